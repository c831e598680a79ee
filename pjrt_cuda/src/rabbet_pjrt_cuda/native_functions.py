"""Native functions of the package `jax-cuda13-plugin` (or 12), registered when a program first calls one."""

import functools
import importlib

from rabbet.errors import PluginError
from rabbet.extend.backend import jaxlib_version, register_plugin_calls

from rabbet_pjrt_cuda import cuda_installation

EXTENSION = "cuda_plugin_extension"  # which registers the functions of all, and has those that call Python

# Beginnings of names, and the module of the package that has such functions.
MODULES = {
    "cusolver_": "_solver",
    "cusparse_": "_sparse",
    "cuhybrid_": "_hybrid",
    "cudnn_": "_rnn",
    "cu_threefry": "_prng",
    "cu_": "_linalg",
    "xla_ffi_python_gpu_": EXTENSION,
}


def provide(targets, backend):
    """Register the modules that have the functions `targets` (names), with the library of `backend`. Names
    that are none of theirs are left to the compiler, which says that it does not know them.

    Raises PluginError where the package is not installed, or goes with another version of jaxlib.
    """
    for target in sorted(targets):
        found = [module for prefix, module in MODULES.items() if target.startswith(prefix)]
        if found:
            register(found[0], target, backend)


@functools.cache
def package():
    """Return the extension module that registers, and the name of its package."""
    name, distribution = cuda_installation.kernels_package()
    problem = cuda_installation.kernels_fit(jaxlib_version())
    if problem is not None:
        raise PluginError(problem)
    try:
        return importlib.import_module(f"{name}.{EXTENSION}"), name
    except ImportError as error:
        raise PluginError(
            f"what a GPU program calls (linear algebra, Python) needs the package {distribution}, which does "
            f"not import: {error}\n  "
            f"{cuda_installation.ADVICE}"
        ) from error


@functools.cache
def registered(module, backend):
    """Register the functions of one module, once; return their names."""
    backend.plugin.load()
    extension, name = package()
    functions = importlib.import_module(f"{name}.{module}")
    if module == "_hybrid":
        functions.initialize()  # finds SciPy's LAPACK, on which half of the work is done
    rows = functions.ffi_handlers() if functions is extension else functions.registrations()
    # Once for all: what is registered later goes the way that the first told jaxlib.
    register_plugin_calls(
        "CUDA", backend.platform, extension.register_custom_call_target, rows.items(),
        extension.register_custom_type, extension.ffi_types().items() if functions is extension else (),
    )  # fmt: skip
    return frozenset(rows)


def register(module, target, backend):
    """Register the module that should have `target`; PluginError if it has no such function."""
    if target not in registered(module, backend):
        raise PluginError(
            f"{cuda_installation.kernels_package()[1]} has no native function {target!r}; it has "
            f"{', '.join(sorted(registered(module, backend)))}"
        )
