"""Memory shared with other libraries, by the DLPack protocol."""

from __future__ import annotations

from typing import Any as _Any

import numpy as np

from rabbet import dtypes
from rabbet.config import config as _config
from rabbet.messages.tracebacks import public_module as _public_module
from rabbet.runtime.jaxlib import dlpack as _dlpack
from rabbet.runtime.transfer import from_dlpack as _from_dlpack


def from_dlpack(external_array: _Any, device: _Any = None, copy: _Any = None) -> _Any:
    """An array over the memory of a tensor of another library.

    Args:
      external_array: an object with ``__dlpack__`` and ``__dlpack_device__``, such as a torch tensor, a CuPy
        or NumPy array.
      device: the ``Device`` (or a ``SingleDeviceSharding``) to put it on; None: where its memory is.
      copy: True always copies; False never does; None copies where it has to.

    Returns:
      an array of the same shape and dtype; of 32 bits for 64, which is a copy, where ``config.enable_x64`` is
      off and ``config.explicit_x64_dtypes`` is not "allow".

    Raises:
      TypeError: for an object without the protocol, or a dtype that has no equal here.
      BufferError: with ``copy=False`` where a copy is needed, or if no device here has that memory.

    Example:
      >>> rb.dlpack.from_dlpack(np.arange(3))
      Array([0, 1, 2], dtype=int64)
    """
    array = _from_dlpack(external_array, device, copy)
    narrow = dtypes.narrow(array.dtype)
    if narrow == array.dtype or _config.explicit_x64_dtypes == "allow":
        return array
    if copy is False:
        raise BufferError(
            f"the tensor is of dtype {array.dtype} and becomes {narrow}, a copy, as config.enable_x64 is off "
            f"and config.explicit_x64_dtypes is {_config.explicit_x64_dtypes!r}; leave out copy=False, or "
            f"change one of the two"
        )
    return array.astype(narrow)


def is_supported_dtype(dtype: _Any) -> bool:
    """Whether arrays of this dtype can be exchanged.

    Example:
      >>> rb.dlpack.is_supported_dtype('float32'), rb.dlpack.is_supported_dtype('int4')
      (True, False)
    """
    try:
        found = dtypes.canonicalize(dtype)
        return isinstance(found, np.dtype) and _dlpack.is_known(found)
    except TypeError:
        return False


__all__ = ["from_dlpack", "is_supported_dtype"]

_public_module(globals())
