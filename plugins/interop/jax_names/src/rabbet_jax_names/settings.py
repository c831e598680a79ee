"""The settings of JAX that Rabbet calls otherwise, has no use for, or cannot follow, as tables.

Programs set them by ``config.update("jax_...", value)`` and by ``JAX_...`` variables, and must run without a
change. What Rabbet has under the same name is a setting of core (or of the backend that it belongs to) with
``jax=True``.
"""

import warnings

from rabbet.extend.backend import Alias, Setting
from rabbet.extend.wrapping import stacklevel

NO_LIMIT = 2**62


# What Rabbet calls JAX's ways to hide frames. ``auto`` is shown where frames are folded.
TRACEBACKS = {
    "off": "full",
    "tracebackhide": "mark",
    "remove_frames": "cause",
    "quiet_remove_frames": "fold",
    "auto": "fold",
}


def traceback(value):
    """Rabbet's word for one of JAX's ways to hide frames."""
    if value not in TRACEBACKS:
        raise ValueError(f"it is one of {', '.join(TRACEBACKS)}")
    return TRACEBACKS[value]


def filtering(value):
    """JAX's word for one of Rabbet's."""
    return {here: there for there, here in TRACEBACKS.items()}[value]


def limit(value):
    """A number of bytes, or -1 for no limit."""
    return NO_LIMIT if str(value).strip() == "-1" else value


ALIASES = (
    Alias("traceback_filtering", "traceback", traceback, filtering),
    Alias("compilation_cache_dir", "cache_dir"),
    Alias("enable_compilation_cache", "cache"),
    Alias("compilation_cache_max_size", "cache_max_bytes", limit, lambda v: -1 if v == NO_LIMIT else v),
    Alias("persistent_cache_min_compile_time_secs", "cache_min_seconds"),
    Alias("persistent_cache_min_entry_size_bytes", "cache_min_bytes", lambda v: max(int(v), 0)),
    Alias("explain_cache_misses", "explain"),
    Alias("cpu_enable_async_dispatch", "cpu_asynchronous"),
    Alias("checking_leaks", "check_tracer_leaks"),
    Alias("platform_name", "platforms", lambda v: v or None, lambda v: v[0] if v else ""),
    Alias("transfer_guard", (
        "transfer_guard_host_to_device", "transfer_guard_device_to_device", "transfer_guard_device_to_host",
    )),
)  # fmt: skip

# Accepted without effect, by the reason why there is none: (reason, {name: default of JAX}).
INERT = (
    ("it chooses between two implementations inside JAX, and Rabbet has its own.", {
        "accurate_erf_inv": False, "bcoo_cusparse_lowering": False, "compiler_enable_remat_pass": True,
        "custom_jvp3": False, "custom_vjp3": False, "disable_bwd_checks": False,
        "eager_constant_folding": False,
        "embedded_constants_max_bytes": 32, "ragged_dot_use_ragged_dot_instruction": True,
        "raise_on_ppermute_sort_diff": True, "remat3": False, "remat_barrier_no_cotangents": False,
        "scan3": False, "softmax_custom_jvp": False, "threefry_gpu_kernel_lowering": False,
        "use_cpp_shard_args": False, "use_direct_linearize": True, "use_emit_pipeline_primitive": False,
        "use_hlo_logistic_lowering": None, "use_magma": "auto", "use_rgv3": True,
        "use_simplified_jaxpr_constants": False, "xla_profile_version": 0,
    }),
    ("Rabbet checks static indices always, and raises IndexError.", {"check_static_indices": False}),
    ("Rabbet's mutable references are checked always.", {"mutable_array_checks": True}),
    ("sums of float16 are allowed, and computed in float32.", {"allow_f16_reductions": True}),
    ("it belongs to programs over several devices or processes.", {
        "auto_pcast": True, "check_proxy_envs": True, "check_vma": False,
        "cpu_collectives_implementation": "gloo", "cpu_get_global_topology_timeout_minutes": 5,
        "cpu_get_local_topology_timeout_minutes": 2, "cross_host_transfer_socket_address": "",
        "cross_host_transfer_timeout_seconds": None, "cross_host_transfer_transfer_size": None,
        "cross_host_transport_addresses": "", "disable_vmap_shmap_error": False,
        "disallow_mesh_context_manager": False, "distributed_debug": False,
        "distributed_verify_secure_credentials": False, "enable_preemption_service": True,
        "enable_recoverability": False, "force_dcn_cross_host_transfers": False, "mock_gpu_topology": "",
        "mock_num_gpu_processes": 0, "mtls_ca_file": None, "mtls_cert_file": None, "mtls_key_file": None,
        "mtls_peer_uri_prefix": None, "remove_custom_partitioning_ptr_from_cache_key": False,
        "remove_size_one_mesh_axis_from_type": False, "share_binary_between_hosts": False,
        "share_binary_between_hosts_timeout_ms": 1200000, "sort_devices_by_process_index": True,
        "use_shardy_partitioner": True,
    }),
    ("Rabbet's cache of compiled programs decides it by itself.", {
        "compilation_cache_check_contents": False, "compilation_cache_expect_pgle": False,
        "compilation_cache_include_metadata_in_key": False, "persistent_cache_enable_xla_caches": "none",
        "raise_persistent_cache_errors": False,
    }),
    ("Rabbet has no compilation guided by profiles.", {
        "enable_pgle": False, "pgle_aggregation_percentile": 90, "pgle_profiling_runs": 3,
    }),
    ("it is about how JAX itself writes kernels.", {
        "mosaic_allow_hlo": False, "mosaic_unzip_debug_locations": True,
        "pallas_auto_assign_collective_ids": "no", "pallas_auto_assign_collective_ids_limit": 25,
        "pallas_verbose_errors": False,
    }),
    ("Rabbet writes no TensorFlow programs.", {
        "jax2tf_associative_scan_reductions": False, "jax2tf_default_native_serialization": True,
    }),
    ("what is exported says itself which versions read it.", {
        "export_calling_convention_version": 10, "export_deserialize_expired_versions": False,
        "export_ignore_forward_compatibility": False, "serialization_version": 0,
    }),
    ("it is about what errors, logs, dumps and printed programs show in JAX.", {
        "captured_constants_report_frames": 0, "compiler_detailed_logging_min_ops": 10,
        "debug_leaked_clients_on_clear_backends": False, "experimental_unsafe_xla_runtime_errors": False,
        "hlo_source_file_canonicalization_regex": None, "include_debug_info_in_dumps": True,
        "include_full_tracebacks_in_locations": True, "log_checkpoint_residuals": False,
        "pprint_use_color": True, "send_traceback_to_runtime": "off", "source_url_schema": None,
        "traceback_in_locations_limit": 100, "tracer_error_num_traceback_frames": 5,
    }),
    ("a backend is a package here, with settings of its own (`rabbet doctor` shows them).", {
        "backend_target": "", "oneapi_visible_devices": "all", "pjrt_client_create_options": None,
        "rocm_visible_devices": "all", "xla_backend": "",
    }),
)  # fmt: skip

# Accepted, but a value other than JAX's default asks for something that Rabbet does not do: a warning.
UNMET = (
    ("arrays in reference cycles are not looked for.", {"array_garbage_collection_guard": None}),
    ("computations on several threads are allowed.", {"thread_guard": False}),
    ("use rabbet.experimental.checkify.", {
        "error_checking_behavior_divide": "ignore", "error_checking_behavior_nan": "ignore",
        "error_checking_behavior_oob": "ignore",
    }),
)  # fmt: skip


def kind_of(default):
    """The parser for settings with such a default: words for booleans, numbers, anything else as it is."""
    return type(default) if isinstance(default, (bool, int)) else lambda value: value


def inert(name, default, reason):
    """A setting that is accepted and changes nothing."""
    doc = f"Accepted for programs that set it, without effect: {reason}"
    return Setting(name, default, kind_of(default), inert=True, jax=True, doc=doc)


def unmet(name, default, reason):
    """A setting that warns of a value that asks for what is not there."""
    doc = f"Accepted with a warning, without effect: {reason}"
    plain = Setting(name, default, kind_of(default), doc=doc)

    def read(value):
        value = plain.read(value, f"config.{name}")
        if value != default:
            message = f"config.{name}={value!r} has no effect in Rabbet: {reason}"
            warnings.warn(message, stacklevel=stacklevel())
        return value

    return Setting(name, default, read, inert=True, jax=True, doc=doc)


SETTINGS = [
    *ALIASES,
    *[inert(name, default, reason) for reason, rows in INERT for name, default in rows.items()],
    *[unmet(name, default, reason) for reason, rows in UNMET for name, default in rows.items()],
]

__all__ = ["ALIASES", "NO_LIMIT", "SETTINGS"]
