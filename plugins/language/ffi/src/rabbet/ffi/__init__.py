"""Compiled functions of other languages in programs, through XLA's typed foreign function interface (FFI).

A function is written in C++ against the headers in ``include_dir()``, compiled to a shared library,
registered
under a name with ``register_ffi_target(name, pycapsule(library.Function))``, and called with ``ffi_call``::

    out = ffi_call("norm", rb.ShapeDtypeStruct(x.shape, x.dtype))(x, eps=np.float32(1e-5))
"""

from rabbet.extend.native import include_dir
from rabbet.extend.functions import public_module as _public_module
from rabbet.ffi.calls import ffi_call
from rabbet.ffi.lowering import ffi_lowering
from rabbet.ffi.tokens import abstract_token
from rabbet.ffi.registration import (
    pycapsule, register_ffi_target, register_ffi_target_as_batch_partitionable, register_ffi_type,
    register_ffi_type_id,
)  # fmt: skip

__all__ = [
    "abstract_token", "ffi_call", "ffi_lowering", "include_dir", "pycapsule", "register_ffi_target",
    "register_ffi_target_as_batch_partitionable", "register_ffi_type", "register_ffi_type_id",
]  # fmt: skip

_public_module(globals())
