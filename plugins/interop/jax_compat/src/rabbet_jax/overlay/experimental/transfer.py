"""``jax.experimental.transfer``: rabbet-distributed's, or names only."""

import rabbet as rb

if not hasattr(rb.experimental, "transfer"):
    OPEN = True  # every name can be read
    WHY = (
        "rabbet-distributed, which has the server of arrays for other processes, is not installed",
        "pip install rabbet-distributed",
    )
