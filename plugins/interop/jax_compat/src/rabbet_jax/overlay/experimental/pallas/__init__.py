"""``jax.experimental.pallas``: ``rabbet.experimental.pallas``. Kernels that JAX ships below ``ops`` are run
from jax's files where jax is installed. JAX's names that are not there can be read, and raise when they are
called.
"""

ABSENT = (
    "BlockDim CompilerParams delay get_global lower_as_mlir pallas_call_p pallas_export_experimental "
    "select_ref semaphore"
)
OPEN_BELOW = True  # and every module below imported
WHY = "Rabbet's Pallas does not have it", "choose the library's implementation without this kernel"
