"""Giving names to compiled functions and their types."""

import ctypes
import warnings
from typing import Any

from rabbet.extend.native import register_batch_partitionable
from rabbet.extend.native import register_ffi_target as register_target
from rabbet.extend.native import register_ffi_type as register_type
from rabbet.extend.wrapping import stacklevel
from rabbet.ffi import capsules

# What XLA calls the platforms, where that is not our word.
PLATFORMS = {"cuda": "CUDA", "gpu": "CUDA", "rocm": "ROCM"}
# The stages that XLA's platforms leave out, as seen with jaxlib 0.10.2 and 0.12.0.
UNUSED = {"cpu": ("prepare", "initialize")}
# By name and platform: the version, and the addresses of the stages.
_registered: dict[Any, Any] = {}


def pycapsule(funcptr: Any) -> Any:
    """A function of a ``ctypes`` library as what ``register_ffi_target`` takes.

    Args:
      funcptr: ``library.Function``, or another object that ``ctypes`` casts to a pointer.

    Raises:
      ValueError: for a null pointer.

    Example:
      >>> import ctypes
      >>> from rabbet.ffi import pycapsule
      >>> library = ctypes.CDLL(None)
      >>> type(pycapsule(library.abs)).__name__
      'PyCapsule'
    """
    pointer = ctypes.cast(funcptr, ctypes.c_void_p)
    if not pointer.value:
        raise ValueError(f"pycapsule takes a function of a library, as library.Function, got {funcptr!r:.60}")
    return capsules.make(pointer)


def register_ffi_target(
    name: str, fn: Any, platform: str = "cpu", api_version: int = 1, **kwargs: Any
) -> None:
    """Give a compiled function a name, by which programs call it.

    Args:
      name: unique in the process.
      fn: a capsule, as ``pycapsule`` makes it, or a dict of capsules by stage: ``"instantiate"``,
        ``"prepare"``, ``"initialize"``, ``"execute"``, of which the last has to be there. XLA's CPU runs
        neither ``"prepare"`` nor ``"initialize"``; a warning says so.
      platform: ``"cpu"``, ``"cuda"``, ...
      api_version: 1 for functions of the typed FFI, 0 for the older interface.

    Whether the function is one for XLA's interface cannot be seen from outside: one of another kind can end
    the process when it is registered or called.

    Raises:
      TypeError: for what is no capsule, or one of something else than a function. ValueError: for a capsule
        whose address holds no code of this process, for a name that another function has, for stages that
        there are not, for another ``api_version``.

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
    if kwargs:
        raise TypeError(f"register_ffi_target: {', '.join(kwargs)} not known; it takes name, fn, platform")
    capsules.check_name(name, "register_ffi_target")
    if api_version not in (0, 1):
        raise ValueError(f"register_ffi_target: {name!r}: api_version is 1, or 0 for the older interface, "
                         f"got {api_version!r}")  # fmt: skip
    if isinstance(fn, dict):
        capsules.check_stages(name, fn, api_version)
        unused = [stage for stage in fn if stage in UNUSED.get(platform, ())]
        if unused:
            warnings.warn(
                f"register_ffi_target: XLA does not run {' and '.join(map(repr, unused))} of {name!r} on the "
                f"platform {platform!r}; what it needs there belongs into 'instantiate' or 'execute'",
                stacklevel=stacklevel(),
            )
    stages = fn if isinstance(fn, dict) else {"execute": fn}
    address_of = lambda capsule: capsules.function_of(capsule, name, "register_ffi_target")
    where = tuple([(stage, address_of(capsule)) for stage, capsule in stages.items()])
    place = name, PLATFORMS.get(platform, platform)
    # The compiler would refuse a second one later, where its first client is made, and start none.
    if _registered.get(place, (api_version, where)) != (api_version, where):
        raise ValueError(
            f"register_ffi_target: {name!r} is registered for the platform {platform!r} already, as another "
            "function, and stays so until the process ends\n  to fix: give this one another name"
        )
    register_target(name, fn, place[1], api_version)
    _registered[place] = api_version, where


def register_ffi_type(name: str, type_registration: Any, platform: str = "cpu") -> None:
    """Register a type of C++ objects that a function keeps between its stages.

    Args:
      name: unique in the process.
      type_registration: a dict with capsules: ``"type_id"``, and where needed ``"type_info"``.
      platform: as for ``register_ffi_target``.

    Raises:
      TypeError: for what is no such dict of capsules.

    Example:
      >>> from rabbet.ffi import pycapsule, register_ffi_type
      >>> capsules = {"type_id": pycapsule(library.CounterTypeId)}  # doctest: +SKIP
      >>> register_ffi_type("counter", capsules)  # doctest: +SKIP
      >>> callable(register_ffi_type)
      True
    """
    capsules.check_type(name, type_registration, "register_ffi_type")
    register_type(name, type_registration, PLATFORMS.get(platform, platform))


def register_ffi_type_id(name: str, obj: Any, platform: str = "cpu") -> None:
    """Register the type whose ``TypeId`` the capsule ``obj`` points to; see ``register_ffi_type``.

    Raises:
      TypeError: for what is not a capsule.

    Example:
      >>> from rabbet.ffi import pycapsule, register_ffi_type_id
      >>> register_ffi_type_id("counter", pycapsule(library.CounterTypeId))  # doctest: +SKIP
      >>> callable(register_ffi_type_id)
      True
    """
    capsules.check_type(name, {"type_id": obj}, "register_ffi_type_id")
    register_type(name, obj, PLATFORMS.get(platform, platform))


def register_ffi_target_as_batch_partitionable(name: str) -> None:
    """Say that a registered function treats the members of its leading dimensions alike and apart.

    Example:
      >>> from rabbet.ffi import register_ffi_target_as_batch_partitionable
      >>> register_ffi_target_as_batch_partitionable("norm_of_rows")  # rows may be on different devices
    """
    register_batch_partitionable(name)
