"""Intel GPUs as a Rabbet backend: the PJRT library of the wheel `jax-oneapi-pjrt`.

The library needs oneAPI, which does not come with it: the loader has to find it (`LD_LIBRARY_PATH`, or
`ldconfig`). Which libraries are missing is read from the file's header, so `rabbet doctor` names them on any
machine, and nothing native is loaded to find out. How far this was tried is in docs/vendors.md: no such GPU
was at hand.

Two settings, read when the client is made:

RABBET_ONEAPI_MEMORY_FRACTION=0.5   how much of a GPU's memory the allocator may take;
RABBET_ONEAPI_DEVICES=0,2           the GPUs to use, by number; by default all.
"""

from glob import glob

from rabbet.extend.backend import CApiBackend
from rabbet.extend.native import VendorWheels

WHEELS = VendorWheels(
    "oneapi",
    [("jax_plugins.xla_oneapi", "xla_oneapi_plugin.so", "jax-oneapi-pjrt")],
    sdk="oneAPI",
    behind=1,
)


def hardware() -> str | None:
    """Why this machine cannot run programs for oneAPI, or None."""
    if not glob("/dev/dri/renderD*"):
        return "no Intel GPU is visible to this process (nothing matches /dev/dri/renderD*)"
    return WHEELS.missing()


BACKEND = CApiBackend(
    "oneapi",
    WHEELS.library,
    options=WHEELS.options,
    priority=180,
    package=WHEELS.package,
    advice='install it with: python -m pip install "rabbet-pjrt-oneapi[wheel]"',
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
