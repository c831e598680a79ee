"""Arrays of other libraries by DLPack: memory is shared where that is possible. ``numpy.from_dlpack(x)`` and
its like read arrays of ours.
"""

from rabbet import dtypes
from rabbet.messages.tracebacks import public_module
from rabbet.runtime import dlpack as capsules
from rabbet.runtime import transfer


def from_dlpack(external_array, device=None, copy=None):
    """Return an array over the memory of another library's tensor.

    Args:
      external_array: an object with `__dlpack__` and `__dlpack_device__`.
      device: the `Device` to put it on; None: the one that its memory belongs to.
      copy: True always copies; False never does.

    Raises:
      TypeError: for an object without the protocol, or a dtype without an equal here.
      BufferError: if the memory belongs to a platform that is not installed, or `copy=False` cannot be kept.
    """
    return transfer.from_dlpack(external_array, device, copy)


def is_supported_dtype(dtype):
    """Whether arrays of this dtype can be exchanged by DLPack."""
    dtype = dtypes.canonicalize(dtype)
    return not isinstance(dtype, dtypes.ExtendedDType) and capsules.code_of(dtype) is not None


__all__ = ["from_dlpack", "is_supported_dtype"]
public_module(globals())
