"""Compiled functions of others: what jaxlib knows of them. See ``rabbet.ffi``, which is made of this."""

from __future__ import annotations

import functools
import os
from typing import Any

import jaxlib

from rabbet.runtime.jaxlib import adapter, waiting_functions


def include_dir() -> Any:
    """The folder of the C++ headers that come with jaxlib.

    Example:
      >>> from rabbet.extend.native import include_dir
      >>> import pathlib
      >>> (pathlib.Path(include_dir()) / "xla" / "ffi" / "api" / "ffi.h").exists()
      True
    """
    return os.path.join(os.path.dirname(jaxlib.__file__), "include")


def registered_targets(platform: Any) -> Any:
    """The names of the native functions that are registered for a platform, as XLA calls it.

    Example:
      >>> from rabbet.extend.native import registered_targets
      >>> "nobody" in registered_targets("cpu")
      False
    """
    from jaxlib import xla_client

    found = xla_client.custom_call_targets(platform)
    if platform == "cpu":  # functions of the older interface have another list
        found = [*found, *xla_client.custom_call_targets("Host"), *waiting_functions.names()]
    return frozenset(found)


def register_ffi_target(name: str, capsule: Any, platform: str, api_version: int = 1) -> None:
    """Register a native function, a capsule or a dict of capsules by stage, for a platform.

    Example:
      >>> from rabbet.extend.native import register_ffi_target
      >>> register_ffi_target("norm", capsule, "cpu")  # doctest: +SKIP
    """
    from jaxlib import xla_client

    register = functools.partial(
        xla_client.register_custom_call_target, name, capsule, platform=platform, api_version=api_version
    )
    if platform != "cpu" or not waiting_functions.waits(name, register):
        register()


def register_ffi_type(name: Any, registration: Any, platform: Any) -> None:
    """Register a type that native functions keep as state.

    Example:
      >>> from rabbet.extend.native import register_ffi_type
      >>> register_ffi_type("counter", {"type_id": capsule}, "cpu")  # doctest: +SKIP
    """
    from jaxlib import xla_client

    xla_client.register_custom_type(name, registration, platform=platform)


def register_batch_partitionable(name: Any) -> None:
    """Say that a native function treats each member of a leading dimension alike.

    Example:
      >>> from rabbet.extend.native import register_batch_partitionable
      >>> register_batch_partitionable("norm")  # doctest: +SKIP
    """
    from jaxlib import xla_client

    xla_client.register_custom_call_as_batch_partitionable(name)


def register_partitioner(name: Any, partition: Any, propagate: Any, infer: Any, done: Any) -> None:
    """Have the compiler call Python where it cuts up a call of the target `name`: jaxlib's own, and that of
    each PJRT plugin. `done` is the set of those that know it already.
    """
    from jaxlib import xla_client

    for plugin, c_api in {None: None, **adapter.C_APIS}.items():
        if plugin not in done:
            done.add(plugin)
            extra = {} if c_api is None else {"c_api": c_api}
            xla_client.register_custom_call_partitioner(name, propagate, partition, infer, True, **extra)


@functools.cache
def provide_sparse_products() -> None:
    """Register the products of sparse matrices that jaxlib offers on the CPU, once.

    The function is called ``cpu_csr_sparse_dense_ffi``. Its operands are the values, where each row begins,
    the columns, and a matrix. It checks none of its indices.

    Example:
      >>> from rabbet.extend.native import provide_sparse_products
      >>> def provide_calls(names):
      ...     if "cpu_csr_sparse_dense_ffi" in names:
      ...         provide_sparse_products()
      >>> provide_calls({"my_own_call"})
    """
    from jaxlib import cpu_sparse

    for platform, rows in cpu_sparse.registrations().items():
        for name, capsule, api_version in rows:
            register_ffi_target(name, capsule, platform, api_version)


def register_plugin_calls(
    platform: Any, plugin: Any, register: Any, registrations: Any, register_type: Any = None, types: Any = ()
) -> None:
    """Register native functions with a PJRT plugin, which has a list of its own.

    Args:
      platform: XLA's name of the platform, such as 'CUDA'.
      plugin: the name under which the plugin was loaded.
      register: `(c_api, name, function, platform, api_version, traits)`, of the package that has them.
      registrations: pairs of a name and a capsule (or a dict of capsules by stage).
      register_type: `(c_api, name, type)`, likewise, for state that the functions keep.
      types: pairs of a name and what describes a type.

    Example:
      >>> from rabbet.extend.backend import register_plugin_calls
      >>> def provide_calls(names):
      ...     import toaster_kernels
      ...
      ...     found = [(n, c) for n, c in toaster_kernels.registrations() if n in names]
      ...     register_plugin_calls("TOASTER", "toaster", toaster_kernels.register, found)
    """
    from jaxlib import xla_client

    if plugin in adapter.C_APIS:  # else jax loaded it, and told jaxlib how to register
        handler = functools.partial(register, adapter.C_APIS[plugin])
        xla_client.register_custom_call_handler(platform, handler)
        if register_type is not None:
            known = functools.partial(register_type, adapter.C_APIS[plugin])
            xla_client.register_custom_type_handler(platform, known)
    for name, kind in types:
        xla_client.register_custom_type(name, kind, platform=platform)
    for name, function in registrations:
        xla_client.register_custom_call_target(name, function, platform=platform, api_version=1)


@functools.cache
def provide_lapack() -> None:
    """Register the LAPACK functions that jaxlib offers on the CPU, `lapack_*_ffi`, once.

    They are SciPy's, found when they are initialized (0.2-0.3 s): a call before that ends the process.

    Example:
      >>> from rabbet.extend.backend import provide_lapack
      >>> def provide_calls(names):
      ...     if any(name.startswith("lapack_") for name in names):
      ...         provide_lapack()
      >>> provide_calls({"my_own_call"})
    """
    from jaxlib import lapack

    for platform, rows in lapack.registrations().items():
        for name, capsule, api_version in rows:
            register_ffi_target(name, capsule, platform, api_version)
    lapack._lapack.initialize()
