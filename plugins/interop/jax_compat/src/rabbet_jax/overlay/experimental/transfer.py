"""``jax.experimental.transfer``: names only. Arrays go from process to process by collective operations."""

OPEN = True  # every name can be read
WHY = (
    "Rabbet has no server of arrays for other processes",
    "connect the processes (rabbet.distributed.initialize) and move arrays by device_put",
)
