"""The CPU once more, as a stranger would bring it: the platform `xcpu`, from a PJRT plugin library.

The library is that of the package `xla-cpu-pjrt`, which nobody maintains: this is an example, and a way
to test everything that goes through PJRT's C interface without special hardware.

RABBET_NUM_XCPU_DEVICES=4 gives one process four devices.
"""

from typing import Any

from rabbet import config
from rabbet.extend.backend import CApiBackend, find_library, Setting

NUM_DEVICES = Setting(
    "num_xcpu_devices", 1, int, doc="How many xcpu devices a process has; read when the client is made."
)

LAPACK = {"eig", "geqp3", "hessenberg", "schur", "tridiagonal"}


def library() -> str | None:
    """The path of the plugin library, or None."""
    return find_library("xla_plugins.xla_cpu_pjrt", "xla_cpu_pjrt.so")


def options() -> dict[str, int]:
    """What the plugin is told at the start."""
    return {"cpu_device_count": config.num_xcpu_devices}


def lacks(op: Any) -> str | None:
    """Why the library cannot do an operation that Rabbet offers; None for all others."""
    name = op.primitive.name
    if name.endswith("_callback"):
        return "the library has no way into Python; only the CPU that jaxlib contains does"
    if name in LAPACK or (name == "tridiagonal_solve" and op["perturb_singular"]):
        return "it needs LAPACK, which the library does not have"
    if name in ("max", "min") and op.out.dtype.kind == "c":
        return "the library is an old one, which orders no complex numbers"
    return None


BACKEND = CApiBackend(
    "xcpu",
    library,
    options=options,
    priority=-1,  # the CPU that jaxlib contains goes first
    package="xla-cpu-pjrt",
    advice="install it with: python -m pip install xla-cpu-pjrt==0.0.1",
    native_dtypes=frozenset(
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()
    ),
    lacks=lacks,
    settings=(NUM_DEVICES,),
)
