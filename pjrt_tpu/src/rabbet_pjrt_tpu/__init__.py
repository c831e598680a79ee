"""Google TPUs as a Rabbet backend: loads the PJRT library of the `libtpu` package.

TPU_LIBRARY_PATH names another library. Not verified on hardware; ahead-of-time compilation is (`topologies`).
"""

import os
from glob import glob
from pathlib import Path

from rabbet.extend.backend import CApiBackend, find_library, make_topology
from rabbet.extend.transform import RuleSet

from rabbet_pjrt_tpu import topologies

NAME = "tpu"
PACKAGE = "libtpu"
OLDEST = (0, 0, 42)
ADVICE = 'install it with: python -m pip install "rabbet[tpu]", or name one in TPU_LIBRARY_PATH'

# What libtpu is told where there is no TPU: not to ask the network for one, to write no log files, and that
# other processes may load it too.
WITHOUT_A_TPU = {
    "ALLOW_MULTIPLE_LIBTPU_LOAD": "1",
    "TPU_SKIP_MDS_QUERY": "1",
    "TPU_WORKER_HOSTNAMES": "localhost",
    "TPU_ACCELERATOR_TYPE": "v5litepod-4",
    "TPU_LOG_DIR": "disabled",
    "TPU_STDERR_LOG_LEVEL": "3",
    "TPU_MIN_LOG_LEVEL": "3",
}


def library():
    """Return the path of libtpu.so, or None. Imports none of it."""
    given = os.environ.get("TPU_LIBRARY_PATH")
    return Path(given) if given else find_library(PACKAGE, "libtpu.so")


def tpu_present():
    """Return whether this machine shows a TPU to this process."""
    return bool(glob("/dev/accel[0-9]*") or glob("/dev/vfio/[0-9]*"))


def hardware():
    """Return why this machine has no TPU, or None."""
    if tpu_present():
        return None
    return "no TPU is visible to this process (nothing matches /dev/accel* or /dev/vfio/*)"


def fits(version, jaxlib):
    """Return why a version of libtpu does not go with a version of jaxlib, or None."""
    if version is None or os.environ.get("TPU_LIBRARY_PATH"):
        return None  # the user's own library: the package says nothing about it
    numbers = tuple([int(part) for part in version.split(".")[:3] if part.isdigit()])
    if numbers >= OLDEST:
        return None
    wanted = ".".join(map(str, OLDEST))
    return (
        f"libtpu {version} is too old for jaxlib {jaxlib}, which needs {wanted} or later; "
        f'install one: python -m pip install "libtpu>={wanted}"'
    )


def prepare():
    """Set the variables that libtpu reads when it is loaded, where the user has not."""
    if not tpu_present():
        for name, value in WITHOUT_A_TPU.items():
            os.environ.setdefault(name, value)


def topology(name, **options):
    """Describe TPUs that need not be here, such as 'v5e:2x2', for ahead-of-time compilation.

    Raises ConfigError for a name that no TPU has. libtpu can end the process on a program that it does not
    understand: compile what may be such a program in a process of its own.
    """
    full = topologies.full_name(name)  # before anything is loaded
    BACKEND.plugin.load()
    return topologies.made(full, lambda: make_topology(NAME, full, **options))


def lacks(op):
    """Why TPUs cannot do an operation that Rabbet offers; None for all others."""
    name = op.primitive.name
    if name in ("eig", "geqp3", "hessenberg", "schur", "tridiagonal"):
        return "it needs LAPACK, which TPUs do not have; run this part on the CPU"
    return None


LINALG = "rabbet.lax.linalg"
LOWERINGS = RuleSet("lower")
LOWERINGS.later("rabbet_pjrt_tpu.lowering.converting", "convert_element_type")
LOWERINGS.later("rabbet_pjrt_tpu.lowering.factors", "lu", "householder_product", owner=LINALG)

BACKEND = CApiBackend(
    NAME,
    library,
    priority=300,
    package=PACKAGE,
    advice=ADVICE,
    fits=fits,
    hardware=hardware,
    prepare=prepare,
    topology=topology,
    native_dtypes=frozenset("bool int8 int16 int32 uint8 uint16 uint32 bfloat16 float32 complex64".split()),
    lowerings=LOWERINGS,
    lacks=lacks,
)
