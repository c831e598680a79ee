"""The one door to jaxlib: every private call, and every difference between its versions, stands here.

jaxlib's Python bindings are private API and they move. So nothing else in Rabbet imports them, but the
registry of `rabbet.tree` and those files of this folder that are for one part of jaxlib (`coordination`,
`hlo`, `mlir_modules`, `native_functions`, `portable`, `profiling`). Differences are found by looking for the
feature, never by comparing version numbers. No call in this file patches a jaxlib class or changes its
process-wide state, and none imports `jax` except the few marked "may import jax": `import jax` before or
after Rabbet, in the same process, stays safe.

Words used here: a *raw* array is jaxlib's `ArrayImpl`, a *raw* device its `Device`. Neither leaves
`runtime/`.

Running a program, as `dispatch.py` does it (about 3 us)::

    raws = exe.execute_sharded(arguments).consume_with_handlers(handlers)

`arguments` is a list of raw arrays and `handlers` a list with one `result_handler(aval, sharding)` per
result, built once per executable. PJRT compares *byte sizes only*: an i32 buffer given for an f32 parameter
is reinterpreted silently, and a wrong argument list for several devices can end the process. The caller must
have compared number, shape, dtype, device and deletedness with what the program was compiled for.
With `execute_sharded(arguments, with_tokens=True)`, `.consume_token().block_until_ready()` on the results
waits for effects and raises their errors.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable
from typing import Any

import numpy as np

# Read by C++ when jaxlib is loaded, never again: 1 hides the informational lines that each client prints.
# setdefault, so that whoever set it keeps control.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")

from jaxlib import _hlo, _jax  # type: ignore[attr-defined]  # the stubs lack _hlo
from jaxlib import version as jaxlib_version

from rabbet.errors import ConfigError, DeletedArrayError
from rabbet.runtime.jaxlib import dlpack

ArrayImpl = _jax.ArrayImpl
CompileOptions = _jax.CompileOptions
XlaRuntimeError = _jax.JaxRuntimeError
collect_garbage = _jax.collect_garbage
wait_for = _jax.batched_block_until_ready  # for a list of raw arrays
batched_device_put = _jax.batched_device_put  # what `put` calls; for NumPy arrays that were checked

ZERO_COPY = _jax.HostBufferSemantics.ZERO_COPY
ONLY_DURING_CALL = _jax.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL

# 0.11 brought a device-to-host copy for every dtype and sharding that does not look for jax.
READS_ANY_DTYPE = hasattr(ArrayImpl, "_to_np_array_did_copy")
# 0.10 starves its threads where many programs that communicate are under way; 0.11 changed both.
STARVES = not READS_ANY_DTYPE
# 0.10 looks up a method that only jax installs, unless its checks are skipped; later versions have no such
# switch.
HANDLER_EXTRA = (True,) if "_skip_checks" in (_jax.array_result_handler.__doc__ or "") else ()


C_APIS = {}  # the C interfaces of the PJRT plugins that were loaded here, as capsules, by name


def version() -> Any:
    """Return jaxlib's version, such as '0.10.2'.

    Example:
      >>> from rabbet.extend.backend import jaxlib_version
      >>> tuple(int(part) for part in jaxlib_version().split(".")[:2]) >= (0, 10)
      True
    """
    return jaxlib_version.__version__


# --- clients -------------------------------------------------------------------------------------------


def make_cpu_client(num_devices: int = 1, asynchronous: bool = True, **distributed: Any) -> Any:
    """Return a new raw CPU client.

    `distributed` may hold `distributed_client`, `node_id`, `num_nodes`, `collectives`. `asynchronous=False`
    makes execution block: temporaries stay in one thread's heap.

    Example:
      >>> from rabbet.extend.backend import make_cpu_client
      >>> make_cpu_client(num_devices=2).local_device_count()
      2
    """
    from jaxlib import xla_client  # here, as below: only clients need it

    from rabbet.runtime.jaxlib import waiting_functions

    client = xla_client.make_cpu_client(asynchronous=asynchronous, num_devices=num_devices, **distributed)
    waiting_functions.register_all()
    return client


def load_pjrt_plugin(name: str, library_path: Any) -> bool:
    """Load the shared library of PJRT plugin `name`, unless somebody has, and initialize it. False where the
    library returns no interface.
    """
    if not _jax.pjrt_plugin_loaded(name):
        from jaxlib import _profiler  # type: ignore[attr-defined]  # here: not needed on the CPU

        api = _jax.load_pjrt_plugin(name, str(library_path), None)
        if api is None:
            return False
        C_APIS[name] = api
        _profiler.register_plugin_profiler(api)  # traces show its devices, where it has a profiler
    if not _jax.pjrt_plugin_initialized(name):
        _jax.initialize_pjrt_plugin(name)
    return True


def make_c_api_client(name: Any, options: Any = None, distributed_client: Any = None) -> Any:
    """Return a new raw client of the loaded PJRT plugin `name`; raises XlaRuntimeError without a device."""
    from jaxlib import xla_client

    return xla_client.make_c_api_client(name, dict(options or {}), distributed_client)


def c_api_version(client: Any) -> str:
    """Return the version of PJRT's C interface that a plugin's client was built with, such as '0.81'."""
    return f"{client.pjrt_c_api_major_version}.{client.pjrt_c_api_minor_version}"


def gpu_plugin_options() -> Any:
    """Return the options that jaxlib derives for a GPU client from the XLA_PYTHON_CLIENT_* environment.

    Example:
      >>> from rabbet.extend.backend import gpu_plugin_options
      >>> options = {**gpu_plugin_options(), "visible_devices": [0]}
      >>> options["visible_devices"]
      [0]
    """
    from jaxlib import xla_client

    return xla_client.generate_pjrt_gpu_plugin_options()


def make_topology(plugin: Any, name: Any = "", **options: Any) -> Any:
    """Describe hardware that need not be present, for ahead-of-time compilation by the loaded PJRT `plugin`.

    Returns jaxlib's `DeviceTopology`. Compile with `compile_unloaded` for its `compile_only_devices`. Raises
    ConfigError, with the plugin's reason, for a name or options that it does not know.

    Example:
      >>> from rabbet.extend.backend import make_topology
      >>> def topology(name, **options):
      ...     return make_topology("toaster", name, **options)
    """
    try:
        return _jax.get_default_c_api_topology(plugin, name, dict(options))
    except XlaRuntimeError as error:
        raise ConfigError(str(error)) from None


def topology_of(raw_devices: Any) -> Any:
    """Describe devices that are present, as `make_topology` describes those that need not be.

    Example:
      >>> from rabbet.extend.backend import make_cpu_client, topology_of
      >>> topology_of(make_cpu_client().devices()).platform
      'cpu'
    """
    return _jax.get_topology_for_devices(list(raw_devices))


def compile_only_devices(topology: Any) -> Any:
    """Return raw devices of `topology` that can be compiled for and refuse to run."""
    return topology._make_compile_only_devices()


def live_buffers(client: Any) -> list[Any]:
    """Return the raw arrays that `client` still holds in memory."""
    return client.live_arrays()


# --- placement -----------------------------------------------------------------------------------------


# jax, when it is imported, writes `memory_kind` and other names onto the C++ base classes below. Ours are
# class properties: they win over the base's, before and after, and nothing is ever assigned on an instance.
class SingleSharding(_jax.SingleDeviceSharding):
    """A whole array on one raw device. jaxlib asks for these with every array that is put."""

    _whole = _hlo.HloSharding.replicate()
    memory_kind = property(operator.attrgetter("_memory_kind"))

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> Any:
        return self._whole


class ManySharding(_jax.GSPMDSharding):
    """An array over several raw devices, laid out by an `HloSharding`."""

    made_for = None  # the `Sharding` that it is jaxlib's form of
    memory_kind = property(operator.attrgetter("_memory_kind"))

    def _to_xla_hlo_sharding(self, num_dimensions: int) -> Any:
        return self._hlo_sharding


HloSharding = _hlo.HloSharding
REPLICATED = _hlo.OpSharding.Type.REPLICATED


def device_list(devices: list[Any] | tuple[Any, ...]) -> Any:
    """Return jaxlib's (hashable) list of raw `devices`, in their order."""
    return _jax.DeviceList(tuple(devices))


def single_sharding(raw_device: Any, memory_kind: Any = None) -> SingleSharding:
    """Return the placement of whole arrays on `raw_device`. Build it once per device and keep it."""
    if memory_kind is None:
        return SingleSharding(raw_device)
    return SingleSharding(raw_device, memory_kind=memory_kind)


def many_sharding(devices: Any, hlo_sharding: Any, memory_kind: str | None = None) -> ManySharding:
    """Return a placement over `devices` (a `device_list`), split as `hlo_sharding` says."""
    if memory_kind is None:
        return ManySharding(devices, hlo_sharding)
    return ManySharding(devices, hlo_sharding, memory_kind=memory_kind)


def devices_of(raw: Any) -> Any:
    """Return the `device_list` that raw array `raw` lives on."""
    return raw._sharding._internal_device_list


# --- host to device ------------------------------------------------------------------------------------


def check_host(host: np.ndarray, aval: Any) -> None:
    """Raise TypeError unless the NumPy array `host` is just what `aval` says. XLA itself never looks."""
    if type(host) is not np.ndarray:
        raise TypeError(f"expected a numpy.ndarray for {aval}, got {type(host).__name__}")
    if host.dtype is not aval.dtype and host.dtype != aval.dtype:
        raise TypeError(
            f"host array has dtype {host.dtype}, but its aval says {aval.dtype}; convert it with numpy first"
        )
    if host.shape != aval.shape:
        raise TypeError(f"host array has shape {host.shape}, but its aval says {aval.shape}")


def put(
    host: np.ndarray,
    aval: Any,
    raw_device: Any,
    sharding: SingleSharding | None = None,
    *,
    private: bool = False,
) -> Any:
    """Copy the NumPy array `host` to `raw_device`; return a raw array whose `.aval` is `aval`.

    `aval` needs `.shape`, `.dtype` (a numpy dtype in native byte order) and `.weak_type`; TypeError if `host`
    disagrees with it. The caller's memory is copied before the call returns, so later edits do not
    show. `private=True` promises that nobody will write to `host` again: aligned memory is then shared
    without a copy, and kept alive as long as the raw array.
    """
    check_host(host, aval)
    if sharding is None:
        sharding = SingleSharding(raw_device)
    try:
        semantics = ZERO_COPY if private else ONLY_DURING_CALL
        return batched_device_put(aval, sharding, [host], [raw_device], True, False, semantics, True)
    except XlaRuntimeError as error:
        if "Unknown NumPy dtype" not in str(error):
            raise
        raise TypeError(
            f"this jaxlib cannot store arrays of {aval.dtype}; keep it in NumPy, or install a newer jaxlib"
        ) from None


def put_shards(
    shards: list[Any],
    aval: Any,
    raw_devices: list[Any],
    sharding: ManySharding | None,
    *,
    private: bool = False,
) -> Any:
    """Place `shards[i]` (NumPy) on `raw_devices[i]`; together they are one raw array of type `aval`.

    The shapes of the shards must be those that `sharding` gives to each device: the caller checks that. Equal
    parts may be the same memory, which jaxlib does not take twice: they are copied.
    """
    own, seen = [], set()
    for shard in shards:
        if shard.dtype != aval.dtype:
            raise TypeError(f"a shard has dtype {shard.dtype}, but the array's aval says {aval.dtype}")
        place = shard.__array_interface__["data"][0]
        own.append(np.array(shard, order="C") if place in seen else shard)
        seen.add(place)
    semantics = ZERO_COPY if private else ONLY_DURING_CALL
    return batched_device_put(aval, sharding, own, list(raw_devices), True, False, semantics, True)


def copy_within_client(raw: Any, raw_device: Any, sharding: SingleSharding, always_copy: bool) -> Any:
    """Copy a single-device raw array to another device of its client, asynchronously."""
    semantics = _jax.ArrayCopySemantics
    how = semantics.ALWAYS_COPY if always_copy else semantics.REUSE_INPUT
    (copied,) = _jax.batched_copy_array_to_devices_with_sharding(
        [raw], [_jax.DeviceList((raw_device,))], [sharding], [how]
    )
    return copied


# --- device to host ------------------------------------------------------------------------------------


def deleted(raw: Any) -> Exception:
    """Return the error for using a deleted raw array (without asking jaxlib, which may return an
    object)."""
    aval = raw.aval
    return DeletedArrayError(
        f"array of shape {aval.shape} and dtype {aval.dtype} has been deleted or donated to a computation; "
        "use the computation's result, or do not donate this argument"
    )


def start_copy_to_host(raws: list[Any]) -> None:
    """Begin copying raw arrays to the host, where this jaxlib has a call for it that is free of jax."""
    start = getattr(_jax, "batched_copy_to_host_async", None)
    if start is not None:
        start(list(raws))


# --- dlpack --------------------------------------------------------------------------------------------


NO_WAITING = -1  # DLPack's word for a consumer that sees to it itself


def to_dlpack(raw: Any, stream: Any = None) -> Any:
    """Return a DLPack capsule that shares the memory of a single-device raw array. The consumer's `stream`
    (DLPack's number) waits for the values; without one this call does.

    The process ends if the array is deleted or donated while the capsule or what was made of it lives; on a
    CPU `reading.to_dlpack` avoids that.

    Raises DeletedArrayError, and ValueError for an array on several devices (jaxlib would return the first
    shard). 2- and 4-bit integers have no DLPack form: jaxlib raises XlaRuntimeError.
    """
    if raw.is_deleted():
        raise deleted(raw)
    devices = devices_of(raw)
    if len(devices) > 1:
        raise ValueError(
            f"an array over {len(devices)} devices cannot be exported through DLPack; "
            "copy it to one device first"
        )
    if devices[0].platform == "cpu" or stream is None:
        raw.block_until_ready()  # host consumers have no stream to wait on
    return _jax.buffer_to_dlpack_managed_tensor(raw, None if stream == NO_WAITING else stream)


def incoming_stream(raw_device: Any) -> Any:
    """Return the stream on which a device takes over what other libraries have computed; None on the host."""
    return None if raw_device.platform == "cpu" else raw_device.get_stream_for_external_ready_events()


def from_dlpack(capsule: Any, raw_device: Any, aval: Any, sharding: Any = None, stream: Any = None) -> Any:
    """Return a raw array of type `aval` over the memory of `capsule`, which is consumed.

    Host memory is shared where it is aligned to 64 bytes and copied where not. `aval` must agree
    with `dlpack.describe(capsule)`, else TypeError. For other devices than the CPU this may import jax.
    """
    info = dlpack.describe(capsule)
    if tuple(aval.shape) != info.shape or np.dtype(aval.dtype) != info.dtype:
        raise TypeError(
            f"DLPack tensor is {info.dtype}{list(info.shape)}, but its aval says "
            f"{np.dtype(aval.dtype)}{list(aval.shape)}"
        )
    sharding = sharding or SingleSharding(raw_device)
    if info.on_host:
        return put(dlpack.consume(capsule), aval, raw_device, sharding, private=True)
    raw = _jax.dlpack_managed_tensor_to_buffer(capsule, raw_device, stream)  # may import jax
    return raw._rewrap_with_aval_and_sharding(aval, sharding)


# --- programs ------------------------------------------------------------------------------------------


def default_options(raw_device: Any = None) -> Any:
    """Return new compile options for one device; see compile_options.py for the rest."""
    options = CompileOptions()
    build = options.executable_build_options
    options.num_partitions = build.num_partitions = options.num_replicas = build.num_replicas = 1
    build.use_shardy_partitioner = True
    if raw_device is not None:
        options.device_assignment = device_assignment([[raw_device.id]])
    return options


def device_assignment(ids: list[list[int]] | np.ndarray) -> Any:
    """Return jaxlib's assignment for device ids given as [replica][partition]."""
    return _jax.DeviceAssignment.create(np.asarray(ids, np.int32))


def option_bytes(options: Any) -> bytes:
    """Return compile options as bytes that are the same in every process: part of a cache key."""
    return options.SerializeAsString()


def result_handler(aval: Any, sharding: ManySharding | SingleSharding) -> Any:
    """Return what turns one result of a program into a raw array with `.aval` and `._sharding` as given."""
    return _jax.array_result_handler(aval, sharding, True, *HANDLER_EXTRA)


def compile_text(
    client: Any,
    text: str,
    devices: Any,
    options: Any,
    host_callbacks: list[Callable[..., Any]] | tuple[Any, ...] = (),
) -> Any:
    """Compile a StableHLO module given as text; return a loaded executable.

    `devices` is a `device_list`. Raises XlaRuntimeError with the compiler's message. Host callbacks need MLIR
    objects, which are imported only then.
    """
    try:
        if not host_callbacks:
            return client.compile_and_load(text, devices, options)
        from rabbet.runtime.jaxlib import mlir_modules  # slow to import, and seldom needed

        return client.compile_and_load(mlir_modules.parse(text), devices, options, list(host_callbacks))
    except XlaRuntimeError as error:
        raise XlaRuntimeError(without_version_guess(str(error))) from None


def compile_unloaded(client: Any, text: str, devices: Any, options: Any) -> Any:
    """Compile for compile-only devices, or stand-ins; return an executable that can be inspected and
    serialized.
    """
    from rabbet.runtime.jaxlib import mlir_modules

    if not isinstance(client, _jax.CompileOnlyPyClient):
        return client.compile_and_load(text, devices, options)
    return client.compile(mlir_modules.parse(text), devices, options)


def without_version_guess(message: str) -> str:
    """Drop the line in which a parse error suspects an old plugin: our text and parser have one version."""
    lines = message.splitlines()
    return "\n".join(line for line in lines if "Failed to parse using StableHLO" not in line).strip()


def serialize(exe: Any) -> bytes:
    """Return `exe` as bytes that `deserialize` loads: native code for this machine and this jaxlib."""
    return exe.serialize()


def deserialize(
    client: Any,
    blob: bytes,
    devices: Any,
    options: Any = None,
    host_callbacks: list[Callable[..., Any]] | tuple[Any, ...] = (),
) -> Any:
    """Load what `serialize` returned. Raises XlaRuntimeError on damage that shows; it runs native code."""
    return client.deserialize_executable(blob, devices, options, list(host_callbacks))


def hlo_text(exe: Any) -> str:
    """Return the optimized HLO of an executable."""
    return "\n".join(module.to_string() for module in exe.hlo_modules())


def cost_analysis(exe: Any) -> Any:
    """Return the compiler's estimates ('flops', 'bytes accessed', ...), or None where the backend has
    none."""
    try:
        return dict(exe.cost_analysis())
    except XlaRuntimeError:
        return None


def memory_analysis(exe: Any) -> Any:
    """Return byte counts by name ('argument_size_in_bytes', 'temp_size_in_bytes', ...), or None."""
    try:
        stats = exe.get_compiled_memory_stats()
    except XlaRuntimeError:
        return None
    return {name: getattr(stats, name) for name in dir(stats) if name.endswith("_in_bytes")}


def text_cost(client: Any, text: str) -> Any:
    """Return XLA's estimates ('flops', 'bytes accessed', ...) for a StableHLO module as it is written, before
    it is optimized, or None. `client` is a raw CPU client. Native functions count as nothing.
    """
    try:
        module = _jax.mlir.mlir_module_to_xla_computation(text, use_tuple_args=False, return_tuple=False)
        return dict(_jax.hlo_module_cost_analysis(client, module.get_hlo_module()))
    except XlaRuntimeError:
        return None
