"""AMD GPUs as a Rabbet backend: the PJRT library of the wheel `jax-rocm7-pjrt`.

The library needs ROCm 7, which does not come with it: the loader has to find it (`LD_LIBRARY_PATH`, or
`ldconfig`). Which libraries are missing is read from the file's header, so `rabbet doctor` names them on any
machine, and nothing native is loaded to find out. How far this was tried is in docs/vendors.md: no such GPU
was at hand.

Two settings, read when the client is made:

RABBET_ROCM_MEMORY_FRACTION=0.5   how much of a GPU's memory the allocator may take;
RABBET_ROCM_DEVICES=0,2           the GPUs to use, by number; by default all.
"""

import os

from rabbet.extend.backend import CApiBackend
from rabbet.extend.native import VendorWheels

WHEELS = VendorWheels(
    "rocm",
    [
        ("jax_plugins.xla_rocm7", "xla_rocm_plugin.so", "jax-rocm7-pjrt"),
        ("jax_plugins.xla_rocm10", "xla_rocm_plugin.so", "jax-rocm10-pjrt"),
    ],
    sdk="ROCm 7",
)


def hardware() -> str | None:
    """Why this machine cannot run programs for ROCm, or None."""
    if not os.path.exists("/dev/kfd"):
        return "no AMD GPU is visible to this process (there is no /dev/kfd)"
    return WHEELS.missing()


BACKEND = CApiBackend(
    "rocm",
    WHEELS.library,
    options=WHEELS.options,
    priority=190,
    package=WHEELS.package,
    advice='install it with: python -m pip install "rabbet-pjrt-rocm[rocm7]"',
    fits=WHEELS.fits,
    hardware=hardware,
    checks=WHEELS.checks,
    topology=True,
    native_dtypes=frozenset(
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
        "complex64 complex128".split()
    ),
    settings=WHEELS.settings,
)
