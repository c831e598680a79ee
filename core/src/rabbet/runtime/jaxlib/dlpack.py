"""DLPack tensors in host memory as NumPy arrays, for every dtype and without a producer's help.

NumPy's own `from_dlpack` knows neither bfloat16 nor the 8-bit floats, and jaxlib's import looks for jax. The
structure is small and frozen by its ABI, so ctypes reads it. Devices other than the host are only described.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from rabbet.typing import DType

CPU_LIKE = {1, 3, 11}  # kDLCPU, kDLCUDAHost, kDLROCMHost: memory that the processor may read
PLATFORMS = {1: "cpu", 2: "cuda", 10: "rocm"}
# DLPack's (type code, bits) -> numpy
KINDS = {0: "int", 1: "uint", 2: "float", 5: "complex"}
EXTENDED = {
    4: "bfloat16",
    7: "float8_e3m4",
    8: "float8_e4m3",
    9: "float8_e4m3b11fnuz",
    10: "float8_e4m3fn",
    11: "float8_e4m3fnuz",
    12: "float8_e5m2",
    13: "float8_e5m2fnuz",
    14: "float8_e8m0fnu",
}

NUMPY_KINDS = {"b": 6, "i": 0, "u": 1, "f": 2, "c": 5}
BY_NAME = {name: code for code, name in EXTENDED.items()}


class DLDevice(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int32),
        ("dtype", DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Managed(ctypes.Structure):
    """DLManagedTensor: capsules named 'dltensor'."""

    _fields_ = [("tensor", Tensor), ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class ManagedVersioned(ctypes.Structure):
    """DLManagedTensorVersioned: capsules named 'dltensor_versioned'."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager_ctx", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", Tensor),
    ]


LAYOUTS = {b"dltensor": Managed, b"dltensor_versioned": ManagedVersioned}
DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
# The name given to a consumed capsule. A capsule keeps the pointer, so these bytes live as long as the
# module.
USED = {b"dltensor": b"used_dltensor", b"dltensor_versioned": b"used_dltensor_versioned"}


def api(name: str, result: type, *arguments: type) -> Any:
    """Return a function of CPython's capsule API with a prototype of our own (pythonapi's are shared)."""
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


get_name = api("PyCapsule_GetName", ctypes.c_char_p, ctypes.py_object)
get_pointer = api("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
set_name = api("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)


class TensorInfo(NamedTuple):
    """What a capsule holds. `device_type` and `device_id` are DLPack's numbers; `strides` are in elements."""

    shape: tuple
    dtype: np.dtype
    strides: tuple | None
    device_type: int
    device_id: int

    @property
    def on_host(self) -> bool:
        """Whether the processor may read it."""
        return self.device_type in CPU_LIKE


def device_of(platform: str, hardware_id: int) -> tuple[int, ...]:
    """Return DLPack's (device type, device number) of a device of `platform` that its driver counts as
    `hardware_id`; BufferError where DLPack has no word for it.
    """
    for number, name in PLATFORMS.items():
        if platform == name:
            # All CPU devices are one memory to the rest of the world.
            return number, 0 if number == 1 else hardware_id or 0
    raise BufferError(
        f"DLPack has no device type for platform {platform!r}; convert with np.asarray and share that"
    )


def capsule_of(x: Any, stream: Any = None) -> Any:
    """The tensor `x` as a capsule: of version 1 where it is in host memory and its library has that.
    Elsewhere, what comes later on `stream` waits for what its library still computes.
    """
    if x.__dlpack_device__()[0] in CPU_LIKE:
        try:
            return x.__dlpack__(max_version=(1, 0))
        except TypeError as error:
            if "max_version" not in str(error):  # else a library from before that version
                raise
        return x.__dlpack__()
    return x.__dlpack__() if stream is None else x.__dlpack__(stream=stream)


def open_capsule(capsule: Any) -> tuple[Any, ...]:
    """Return (address, structure, capsule name); raise ValueError for a capsule that was already consumed."""
    name = get_name(capsule)
    if name not in LAYOUTS:
        raise ValueError(f"not a DLPack capsule, or one that was consumed before: it is named {name!r}")
    address = get_pointer(capsule, name)
    managed = LAYOUTS[name].from_address(address)
    if name == b"dltensor_versioned" and managed.major != 1:
        raise ValueError(f"DLPack {managed.major}.{managed.minor} tensors are not understood (only 1.x)")
    return address, managed, name


def dtype_of(code: int, bits: int, lanes: int) -> Any:
    """Return the numpy dtype for DLPack's type; raise TypeError for those that numpy cannot hold."""
    if lanes == 1:
        if code == 6 and bits == 8:
            return np.dtype(bool)
        if code in KINDS and bits >= 8:
            return np.dtype(f"{KINDS[code]}{bits}")
        if code in EXTENDED:
            import ml_dtypes  # for the types that NumPy lacks

            return np.dtype(getattr(ml_dtypes, EXTENDED[code]))
    raise TypeError(f"DLPack type code {code} with {bits} bits and {lanes} lanes has no array dtype here")


def describe(capsule: Any) -> TensorInfo:
    """Return an `TensorInfo` on `capsule` without consuming it."""
    tensor = open_capsule(capsule)[1].tensor
    ndim, dtype = tensor.ndim, tensor.dtype
    strides = tuple(tensor.strides[:ndim]) if tensor.strides else None
    return TensorInfo(
        tuple(tensor.shape[:ndim]),
        dtype_of(dtype.code, dtype.bits, dtype.lanes),
        strides,
        tensor.device.type,
        tensor.device.id,
    )


class HostMemory:
    """Foreign memory for NumPy to look at. It keeps alive whatever owns the bytes."""

    def __init__(self, interface: Any, owner: Any) -> None:
        self.__array_interface__ = interface
        self.owner = owner


class Owner:
    """A consumed tensor: calls the producer's deleter when nothing refers to it any more."""

    def __init__(self, address: Any, managed: Any) -> None:
        self.address, self.deleter = address, managed.deleter

    # It has the type at hand for the time when modules are taken down.
    def __del__(self, deleter: type = DELETER) -> None:
        if self.deleter:
            deleter(self.deleter)(self.address)


def code_of(dtype: DType) -> int | None:
    """DLPack's type code for a NumPy dtype, or None where there is none."""
    return NUMPY_KINDS.get(dtype.kind) if dtype.isbuiltin == 1 else BY_NAME.get(dtype.name)


def lend(values: np.ndarray) -> Any:
    """Return a capsule that lends the NumPy array `values`, of any dtype that DLPack has a word for.

    NumPy makes it and takes it back, so whoever has the capsule keeps the array alive and nothing else. It
    refuses dtypes that it does not know and arrays that are read-only, so it is shown plain numbers, and the
    dtype is written into the capsule afterwards.

    Raises:
      BufferError: for a dtype without a word, such as the 2- and 4-bit ones.
    """
    dtype = values.dtype
    code = code_of(dtype)
    if code is None:
        raise BufferError(
            f"DLPack has no word for the dtype {dtype}; convert the array first, as in x.astype('int8')"
        )
    numbers = np.dtype("complex128") if dtype.itemsize == 16 else np.dtype(f"u{dtype.itemsize}")
    interface = {
        "shape": values.shape,
        "typestr": numbers.str,
        "data": (values.ctypes.data, False),
        "strides": values.strides,
        "version": 3,
    }
    capsule = np.asarray(HostMemory(interface, values)).__dlpack__()
    stated = open_capsule(capsule)[1].tensor.dtype
    stated.code, stated.bits = code, dtype.itemsize * 8
    return capsule


def view(capsule: Any, keep: Any = None) -> np.ndarray:
    """Return a read-only NumPy view of a host tensor; `capsule` is not consumed but kept alive by the
    view."""
    return look(describe(capsule), open_capsule(capsule)[1].tensor, (capsule, keep))


def consume(capsule: Any) -> np.ndarray:
    """Take over a host tensor; return a read-only NumPy view whose death gives the memory back."""
    info = describe(capsule)
    address, managed, name = open_capsule(capsule)
    set_name(capsule, USED[name])
    return look(info, managed.tensor, Owner(address, managed))


def look(info: TensorInfo, tensor: Tensor, owner: tuple[Any, ...] | Owner) -> np.ndarray:
    """Return the NumPy array over `tensor`, with `owner` alive as long as it."""
    if not info.on_host:
        raise ValueError(f"a DLPack tensor on device type {info.device_type} is not in host memory")
    size = info.dtype.itemsize
    if 0 in info.shape:
        empty = np.empty(info.shape, info.dtype)
        empty.flags.writeable = False
        return empty
    strides = None if info.strides is None else tuple(stride * size for stride in info.strides)
    # As numbers of the same width that the interface protocol has a word for; it has none for bfloat16.
    interface = {
        "shape": info.shape,
        "typestr": "<c16" if size == 16 else f"<u{size}",
        "data": ((tensor.data or 0) + tensor.byte_offset, True),
        "strides": strides,
        "version": 3,
    }
    return np.asarray(HostMemory(interface, owner)).view(info.dtype)


def is_known(dtype: DType) -> bool:
    """Whether DLPack and NumPy both have this dtype."""
    numbers = dtype.kind in "iufc" and dtype.isbuiltin == 1 and dtype.itemsize <= 16
    return dtype.kind == "b" or numbers or dtype.name in EXTENDED.values()
