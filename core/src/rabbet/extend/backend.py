"""A backend: ``Backend`` or ``CApiBackend``, its settings and lowerings, and the compiler's doors."""

from rabbet.config import (
    Setting,
    config,
)
from rabbet.runtime.adapter import (
    gpu_plugin_options,
    hlo_module,
    include_dir,
    load_pjrt_plugin,
    make_c_api_client,
    make_cpu_client,
    make_topology,
    provide_lapack,
    register_batch_partitionable,
    register_ffi_target,
    register_ffi_type,
    register_plugin_calls,
    registered_targets,
    topology_of,
)
from rabbet.runtime.adapter import (
    version as jaxlib_version,
)
from rabbet.runtime.ahead import (
    compile_ahead,
)
from rabbet.runtime.backends import (
    Backend,
)
from rabbet.runtime.c_api import (
    CApiBackend,
    library_in,
)
from rabbet.runtime.compile_options import (
    plain_options,
)
from rabbet.runtime.compiled import (
    compile_program,
    lower_program,
    pack_executable,
    text_cost,
    unpack_executable,
)
from rabbet.runtime.memory import (
    is_glibc,
    keep_freed_memory,
)
from rabbet.runtime.profiling import (
    memory_profile,
    profile_data_of,
    profiler,
)
from rabbet.runtime.sharding import (
    SingleDeviceSharding,
)
from rabbet.runtime.transfer import (
    as_device,
)
from rabbet.runtime.values import (
    common_device,
    moved,
)

__all__ = [
    "Backend",
    "CApiBackend",
    "Setting",
    "SingleDeviceSharding",
    "as_device",
    "common_device",
    "compile_ahead",
    "compile_program",
    "config",
    "gpu_plugin_options",
    "hlo_module",
    "include_dir",
    "is_glibc",
    "jaxlib_version",
    "keep_freed_memory",
    "library_in",
    "load_pjrt_plugin",
    "lower_program",
    "make_c_api_client",
    "make_cpu_client",
    "make_topology",
    "memory_profile",
    "moved",
    "pack_executable",
    "plain_options",
    "profile_data_of",
    "profiler",
    "provide_lapack",
    "register_batch_partitionable",
    "register_ffi_target",
    "register_ffi_type",
    "register_plugin_calls",
    "registered_targets",
    "text_cost",
    "topology_of",
    "unpack_executable",
]
