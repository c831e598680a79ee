"""GPUs to compile for that need not be here: their numbers, as XLA's GpuTargetConfigProto wants them.

The numbers are those of NVIDIA's data sheets and of the tuning guides for each compute capability. A kernel's
choices are not tuned by running it, as they are where the GPU is.
"""

import re
from pathlib import Path

from rabbet import devices
from rabbet.errors import ConfigError
from rabbet.extend.backend import make_topology, topology_of

GIB = 1 << 30

# Per name: compute capability, multiprocessors, single-precision units on each, shared memory of a block and
# of a multiprocessor, bytes per second, L2 cache, clock in GHz, memory.
GPUS = {
    "a100": ((8, 0), 108, 64, 166912, 167936, 2039e9, 40 << 20, 1.41, 80 * GIB),
    "a100-40gb": ((8, 0), 108, 64, 166912, 167936, 1555e9, 40 << 20, 1.41, 40 * GIB),
    "h100": ((9, 0), 132, 128, 232448, 233472, 3352e9, 50 << 20, 1.98, 80 * GIB),
    "h200": ((9, 0), 132, 128, 232448, 233472, 4800e9, 50 << 20, 1.98, 141_000_000_000),
}
LOCAL = "local"


def text(name):
    """The GpuTargetConfigProto, as text, of one of `GPUS`."""
    capability, cores, units, block, core, bandwidth, cache, clock, memory = GPUS[name]
    return f"""platform_name: "CUDA"
device_description_str: "{name}"
dnn_version_info {{ major: 9 minor: 12 patch: 0 }}
gpu_device_info {{
  name: "{name}" device_vendor: "NVIDIA Corporation"
  cuda_compute_capability {{ major: {capability[0]} minor: {capability[1]} }}
  core_count: {cores} fpus_per_core: {units} threads_per_warp: 32
  threads_per_block_limit: 1024 threads_per_core_limit: 2048
  shared_memory_per_block: 49152 shared_memory_per_block_optin: {block} shared_memory_per_core: {core}
  registers_per_core_limit: 65536 registers_per_block_limit: 65536
  block_dim_limit_x: 2147483647 block_dim_limit_y: 65535 block_dim_limit_z: 65535
  thread_dim_limit_x: 1024 thread_dim_limit_y: 1024 thread_dim_limit_z: 64
  memory_bandwidth: {int(bandwidth)} l2_cache_size: {cache} clock_rate_ghz: {clock}
  device_memory_size: {memory} device_address_bits: 64
  driver_version: "13.0.0" runtime_version: "13.0.0" compile_time_toolkit_version: "13.0.0"
}}
"""


def known():
    """The names that can be given, sorted."""
    return [*sorted(GPUS), LOCAL]


def split(name):
    """A name's target and its GPUs, as slices, hosts and GPUs of each: `'h100:4'` is `('h100', '1x1x4')`."""
    target, _, count = str(name).partition(":")
    if count and not re.fullmatch(r"[1-9]\d*(x[1-9]\d*){0,2}", count):
        return str(name), "1x1x1"
    sizes = (count or "1").split("x")
    return target, "x".join(["1"] * (3 - len(sizes)) + sizes)


def described(target):
    """The description of a target as text; ConfigError for one that is not known."""
    if target in GPUS:
        return text(target)
    path = Path(target)
    if path.is_file():
        found = path.read_text(encoding="utf-8")
        if "gpu_device_info" in found:
            return found
        raise ConfigError(f"{target} is no GpuTargetConfigProto as text: it has no gpu_device_info")
    raise ConfigError(
        f"there is no CUDA topology {target!r}; there are {', '.join(known())} (the GPUs of this machine), "
        "with a number of GPUs behind a colon (h100:4; h100:32x8 on 32 hosts, h100:1x32x8 with the number "
        "of slices before), and files with a GpuTargetConfigProto as text"
    )


def maker(name, options):
    """A function that makes the description; ConfigError at once for a name that is not known."""
    target, count = split(name)
    if target == LOCAL:
        return lambda: topology_of([device.raw for device in devices("cuda")])
    options = {"target_config": described(target), "topology": count, **options}
    return lambda: make_topology("cuda", "", **options)


def memory(name):
    """The bytes of memory of one GPU of a topology; None where it is not said."""
    target, _ = split(name)
    found = None if target == LOCAL else re.search(r"device_memory_size: *(\d+)", described(target))
    return int(found[1]) if found else None
