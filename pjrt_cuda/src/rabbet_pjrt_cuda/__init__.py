"""NVIDIA GPUs as a Rabbet backend: loads the CUDA PJRT plugin from its own wheel.

The wheels `jax-cuda13-pjrt` and `jax-cuda12-pjrt` (extras `cuda13` and `cuda12`) carry the library; nothing
else of theirs is used and jax is not needed. Memory is taken as it is needed: set
XLA_PYTHON_CLIENT_PREALLOCATE=true to take most of it at the start.

Not verified on hardware; ahead-of-time compilation is (`topology`). Linear algebra kernels (cuSOLVER) are
not registered.
"""

import os
from glob import glob
from importlib.util import find_spec
from pathlib import Path

from rabbet.extend import (
    Backend,
    PluginError,
    gpu_plugin_options,
    load_pjrt_plugin,
    make_c_api_client,
    make_topology,
)

NAME = "cuda"
PACKAGES = {"cuda13": "jax_plugins.xla_cuda13", "cuda12": "jax_plugins.xla_cuda12"}
LIBRARY = "xla_cuda_plugin.so"
ADVICE = 'install it with: python -m pip install "rabbet[cuda13]" (or "rabbet[cuda12]" for an older driver)'


def library():
    """Return the path of the PJRT library of the newest CUDA that is installed, or None. Imports none of
    it."""
    for package in PACKAGES.values():
        try:
            spec = find_spec(package)
        except ModuleNotFoundError:
            continue
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            path = Path(folder) / LIBRARY
            if path.exists():
                return path
    return None


def gpu_present():
    """Return whether the NVIDIA driver shows a GPU to this process."""
    return bool(glob("/dev/nvidia[0-9]*")) or os.path.exists("/dev/dxg")


def obstacle():
    """Return why this machine cannot run the backend, or None."""
    if library() is None:
        return f"no CUDA PJRT library is installed; {ADVICE}"
    if not gpu_present():
        return "no NVIDIA GPU is visible to this process (nothing matches /dev/nvidia[0-9]*)"
    return None


def load():
    """Load the PJRT library; PluginError naming the package to install where it is missing."""
    path = library()
    if path is None:
        raise PluginError(f"the CUDA backend has no PJRT library to load; {ADVICE}")
    load_pjrt_plugin(NAME, path)


def make_client(options):
    """Return the raw CUDA client. `options` may hold `distributed_client`; the rest goes to the plugin."""
    load()
    options = dict(options)
    distributed_client = options.pop("distributed_client", None)
    chosen = {"preallocate": False} | gpu_plugin_options() | options
    return make_c_api_client(NAME, chosen, distributed_client)


def topology(name="", *, target_config, topology="1x1x1", **options):
    """Describe GPUs that need not be here, for ahead-of-time compilation.

    `target_config` is a GpuTargetConfigProto as text; `topology` counts slices x hosts x devices.
    """
    load()
    return make_topology(NAME, name, target_config=target_config, topology=topology, **options)


def doctor():
    """Return the lines of `rabbet doctor` about CUDA, each as (label, ok, detail)."""
    path, present = library(), gpu_present()
    return [
        ("cuda library", path is not None, str(path or f"missing; {ADVICE}")),
        ("cuda device", present, "visible" if present else "none visible to this process"),
    ]


BACKEND = Backend(
    platform="cuda",
    priority=200,
    make_client=make_client,
    obstacle=obstacle,
    topology=topology,
    native_dtypes=frozenset(
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
        "complex64 complex128".split()
    ),
    doctor=doctor,
)
