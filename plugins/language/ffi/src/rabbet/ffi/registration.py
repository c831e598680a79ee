"""Giving names to compiled functions and their types."""

import ctypes
from typing import Any

from rabbet.extend.native import register_batch_partitionable
from rabbet.extend.native import register_ffi_target as register_target
from rabbet.extend.native import register_ffi_type as register_type

# What XLA calls the platforms, where that is not our word.
PLATFORMS = {"cuda": "CUDA", "gpu": "CUDA", "rocm": "ROCM"}
CAPSULE = b"xla._CUSTOM_CALL_TARGET"  # capsules keep the pointer: these bytes live as long as this module


def pycapsule(funcptr: Any) -> Any:
    """A function of a ``ctypes`` library as what ``register_ffi_target`` takes.

    Args:
      funcptr: ``library.Function``, or another object that ``ctypes`` casts to a pointer.

    Example:
      >>> import ctypes
      >>> from rabbet.ffi import pycapsule
      >>> library = ctypes.CDLL(None)
      >>> type(pycapsule(library.abs)).__name__
      'PyCapsule'
    """
    new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    make = new(("PyCapsule_New", ctypes.pythonapi))
    return make(ctypes.cast(funcptr, ctypes.c_void_p), CAPSULE, None)


def register_ffi_target(
    name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: Any
) -> None:
    """Give a compiled function a name, by which programs call it.

    Args:
      name: unique in the process.
      fn: a capsule, as ``pycapsule`` makes it, or a dict of capsules by stage: ``"instantiate"``,
        ``"prepare"``, ``"initialize"``, ``"execute"``.
      platform: ``"cpu"``, ``"cuda"``, ...
      api_version: 1 for functions of the typed FFI, 0 for the older interface.

    Raises:
      TypeError: for what is no capsule.

    Example:
      >>> import ctypes
      >>> from rabbet.ffi import pycapsule, register_ffi_target
      >>> library = ctypes.CDLL("./libnorm.so")  # doctest: +SKIP
      >>> register_ffi_target("norm", pycapsule(library.Norm), platform="cpu")  # doctest: +SKIP
      >>> try:
      ...     register_ffi_target("norm", print)
      ... except TypeError as error:
      ...     print(str(error).partition(",")[0])
      register_ffi_target: 'norm' needs a capsule
    """
    stages = fn.values() if isinstance(fn, dict) else [fn]
    for capsule in stages:
        if type(capsule).__name__ != "PyCapsule":
            raise TypeError(
                f"register_ffi_target: {name!r} needs a capsule, as pycapsule(library.Function) makes it, "
                f"got {type(capsule).__name__}"
            )
    if kwargs:
        raise TypeError(f"register_ffi_target: {', '.join(kwargs)} not known; it takes name, fn, platform")
    register_target(name, fn, PLATFORMS.get(platform, platform), api_version)


def register_ffi_type(name: str, type_registration: Any, platform: str = "cpu") -> None:
    """Register a type of C++ objects that a function keeps between its stages.

    Args:
      name: unique in the process.
      type_registration: a dict with capsules: ``"type_id"``, and where needed ``"type_info"``.
      platform: as for ``register_ffi_target``.

    Example:
      >>> from rabbet.ffi import pycapsule, register_ffi_type
      >>> capsules = {"type_id": pycapsule(library.CounterTypeId)}  # doctest: +SKIP
      >>> register_ffi_type("counter", capsules)  # doctest: +SKIP
      >>> callable(register_ffi_type)
      True
    """
    register_type(name, type_registration, PLATFORMS.get(platform, platform))


def register_ffi_type_id(name: str, obj: Any, platform: str = "cpu") -> None:
    """Register the type whose ``TypeId`` the capsule ``obj`` points to; see ``register_ffi_type``.

    Example:
      >>> from rabbet.ffi import pycapsule, register_ffi_type_id
      >>> register_ffi_type_id("counter", pycapsule(library.CounterTypeId))  # doctest: +SKIP
      >>> callable(register_ffi_type_id)
      True
    """
    register_type(name, obj, PLATFORMS.get(platform, platform))


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Say that a registered function treats the members of its leading dimensions alike and apart.

    Example:
      >>> from rabbet.ffi import register_ffi_target_as_batch_partitionable
      >>> register_ffi_target_as_batch_partitionable("norm_of_rows")  # rows may be on different devices
    """
    register_batch_partitionable(name)
