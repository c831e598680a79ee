"""What of CUDA is installed here, and whether it goes together. Nothing native is loaded to find out."""

import os
import re
from glob import glob

from rabbet.extend.backend import find_library, jaxlib_version

LIBRARY = "xla_cuda_plugin.so"
# The newest first: of each CUDA version the oldest driver that runs it.
OLDEST_DRIVER = {13: 580, 12: 525}
ADVICE = (
    'install it with: python -m pip install "rabbet[cuda13]" (or "rabbet[cuda12]" for an older driver); '
    'in a clone of the repository: python -m pip install "./pjrt_cuda[cuda13]"'
)
DRIVER_FILE = "/proc/driver/nvidia/version"


def libraries():
    """Return the PJRT libraries that are installed, by their version of CUDA, the newest first."""
    found = {cuda: find_library(f"jax_plugins.xla_cuda{cuda}", LIBRARY) for cuda in OLDEST_DRIVER}
    return {cuda: path for cuda, path in found.items() if path is not None}


def cuda_version():
    """Return the version of CUDA to use, or None: the newest installed one that the driver runs."""
    found, driver = list(libraries()), driver_version()
    runs = [cuda for cuda in found if driver is None or driver >= OLDEST_DRIVER[cuda]]
    return next(iter(runs or found), None)


def library():
    """Return the path of the PJRT library, or None."""
    return libraries().get(cuda_version())


def package():
    """Return the name of the package that brings the PJRT library."""
    return f"jax-cuda{cuda_version() or 13}-pjrt"


def kernels_package():
    """Return the names (to import, to install) of the package with the native functions."""
    cuda = cuda_version() or 13
    return f"jax_cuda{cuda}_plugin", f"jax-cuda{cuda}-plugin"


def fits(version, jaxlib):
    """Return why the PJRT library of `version` does not go with `jaxlib`, and what does, or None.

    Both are built from one state of XLA: those of one minor version (0.12) go together.
    """
    if version is None or minor(version) == minor(jaxlib):
        return None
    wanted = ".".join(map(str, minor(jaxlib)))
    return (
        f"{package()} {version} does not go with jaxlib {jaxlib}: their versions must begin alike\n  either: "
        f'python -m pip install "{package()}=={wanted}.*" "{kernels_package()[1]}=={wanted}.*"\n  or: '
        f'python -m pip install "jaxlib=={".".join(map(str, minor(version)))}.*"'
    )


def kernels_fit(jaxlib):
    """Return why the native functions do not go with `jaxlib`, or None; None also where there are none."""
    _, name = kernels_package()
    version = installed_version(name)
    if version is None or minor(version) == minor(jaxlib):
        return None
    wanted = ".".join(map(str, minor(jaxlib)))
    return (
        f"{name} {version} does not go with jaxlib {jaxlib}: their versions must begin alike; "
        f'python -m pip install "{name}=={wanted}.*"'
    )


def installed_version(name):
    """The version of an installed package, or None if there is none."""
    from importlib import metadata  # it takes longer than all of core, and most processes have no GPU

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def minor(version):
    """The first two numbers of a version."""
    return tuple([int(n) for n in re.findall(r"\d+", version)[:2]])


def gpu_present():
    """Return whether the NVIDIA driver shows a GPU to this process."""
    return bool(glob("/dev/nvidia[0-9]*")) or os.path.exists("/dev/dxg")


def driver_version():
    """Return the main version of the NVIDIA driver, such as 580; None if there is none or it does not say."""
    try:
        with open(DRIVER_FILE, encoding="utf-8") as file:
            found = re.search(r"Kernel Module\D*(\d+)\.", file.read())
    except OSError:
        return None
    return int(found[1]) if found else None


def hardware():
    """Return why this machine cannot run programs for CUDA, or None."""
    if not gpu_present():
        return "no NVIDIA GPU is visible to this process (nothing matches /dev/nvidia[0-9]*)"
    driver, cuda = driver_version(), cuda_version()
    if driver is None or cuda is None or driver >= OLDEST_DRIVER[cuda]:
        return None
    fitting = [f'"rabbet[cuda{c}]"' for c, oldest in OLDEST_DRIVER.items() if driver >= oldest]
    other = f", or install {' or '.join(fitting)}" if fitting else ""
    return (
        f"the NVIDIA driver {driver} is too old for CUDA {cuda}, which needs {OLDEST_DRIVER[cuda]} or newer: "
        f"update the driver{other}"
    )


def checks():
    """Return lines for `rabbet doctor`: the native functions, and the driver's version."""
    _, name = kernels_package()
    version, problem = installed_version(name), kernels_fit(jaxlib_version())
    if version is None:
        problem = "is not installed, and with it linear algebra on a GPU"
    lines = [
        ("cuda functions", problem is None, f"{name} {version}" if problem is None else f"{name}: {problem}")
    ]
    driver = driver_version()
    return lines if driver is None else [*lines, ("cuda driver version", None, str(driver))]
