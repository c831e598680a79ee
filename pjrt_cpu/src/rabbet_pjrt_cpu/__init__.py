"""The CPU as a Rabbet backend, through the PJRT client that jaxlib contains.

Its settings, as environment variables or through `rabbet.config`, before the first array is made:

RABBET_NUM_CPU_DEVICES=8   as many devices on this one machine, for trying out programs for many (default 1);
RABBET_CPU_THREADS=4       how many threads a program may use (default: one per processor that this process
                           may use). It is given to XLA as the environment variable NPROC, for the process;
RABBET_CPU_ASYNCHRONOUS=1  calls return before their result is there (default 0: on the calling thread);
RABBET_CPU_KERNELS         whose kernels programs use, see below; at any time: `default`, `quick` or `onednn`;
RABBET_CPU_ALLOCATOR       `keep` (default): freed memory is kept for the next step, and given back when it is
                           idle, see below; `hold`: never given back; `default`: malloc as the system has it.

XLA's own choice of kernels, `default`, is best for programs that run many times. Its library for matrix
products and convolutions prepares each of them when a program first runs; `quick` leaves it out, so that the
first run is sooner and some later ones are slower. Convolutions alone are left out of it, also by `default`,
in programs where all of them gain by that (see `convolution_kernels`). `onednn` takes oneDNN for matrix
products and convolutions; such programs are not kept on disk, and with jaxlib 0.10 convolutions do not use
it.

With `keep`, glibc's malloc is told to hold on to freed memory. That is a setting of the whole process;
without it large temporaries are mapped and page-faulted anew at every step. It needs a client that runs
programs on the calling thread, which is the default too (RABBET_CPU_ASYNCHRONOUS=0). A thread looks once a
second, and gives back what is free while the process rests, and what is more than 1 GiB while it works.
"""

import os
import re

from rabbet import config
from rabbet.errors import ConfigError
from rabbet.extend.backend import (
    Backend,
    jaxlib_version,
    make_cpu_client,
    provide_lapack,
    Setting,
)
from rabbet.extend.native import register_batch_partitionable, provide_sparse_products
from rabbet.extend.transform import RuleSet

from rabbet_pjrt_cpu import convolution_kernels, long_stacks, small_arrays
from rabbet_pjrt_cpu.memory import is_glibc, keep_freed_memory


# Each stand-in has threads of its own.
MOST_STAND_INS = 1024


def count(value):
    """Parse a number of devices or threads."""
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1:
        raise ValueError("it is a whole number, at least 1")
    return number


def threads(value):
    """Parse a number of threads, or None for as many as there are processors."""
    return None if value in (None, "") else count(value)


def allocator(value):
    """Parse what malloc is to do."""
    if value not in ("keep", "hold", "default"):
        raise ValueError("it is keep, hold or default")
    return value


# What XLA is told. Its default: single matrix products, single convolutions and reductions by the library.
LIBRARY = "xla_cpu_experimental_ynn_fusion_type"
DOTS, REDUCTIONS = "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT", "LIBRARY_FUSION_TYPE_REDUCE"
WITHOUT_CONVOLUTIONS: dict[str, bool | str] = {LIBRARY: f"{DOTS},{REDUCTIONS}"}
KERNELS: dict[str, dict[str, bool | str]] = {
    "default": {},
    "quick": {LIBRARY: REDUCTIONS},
    "onednn": {
        "xla_cpu_use_onednn": True,
        "xla_cpu_experimental_onednn_custom_call": True,
        **WITHOUT_CONVOLUTIONS,
    },
}


def kernels(value):
    """Parse whose kernels programs use."""
    if value not in KERNELS:
        raise ValueError(f"it is one of {', '.join(KERNELS)}")
    return value


NUM_DEVICES = Setting(
    "num_cpu_devices", 1, count, jax=True,
    doc="How many CPU devices one process has; read when the CPU client is made. With the default, the flag "
    "--xla_force_host_platform_device_count in XLA_FLAGS counts.",
)  # fmt: skip
THREADS = Setting(
    "cpu_threads", None, threads,
    doc="How many threads programs on the CPU may use; None: as many as there are processors. "
    "Read when the CPU client is made.",
)  # fmt: skip
ALLOCATOR = Setting(
    "cpu_allocator",
    "keep",
    allocator,
    doc="keep: malloc keeps freed memory until it is idle (glibc only, whole process); hold: always; "
    "default: as it is. "
    "Read when the CPU client is made.",
)
KERNEL_CHOICE = Setting(
    "cpu_kernels",
    "default",
    kernels,
    traced=True,
    context=True,
    doc="Whose kernels programs on the CPU use: default; quick: fewer of a library's, for an early first "
    "run; onednn: oneDNN's, for matrix products and convolutions (such programs are not kept on disk).",
)


def number_of_devices():
    """How many devices the client has: what the setting says, or else XLA's flag for that."""
    said = re.search(r"--xla_force_host_platform_device_count=(\d+)", os.environ.get("XLA_FLAGS", ""))
    number = config.num_cpu_devices
    return count(said[1]) if said and number == NUM_DEVICES.default else number


def make_client(options):
    """Return the raw CPU client.

    `options` may hold `num_devices`, `asynchronous`, and for several processes `distributed_client`,
    `node_id`, `num_nodes`, `collectives`; the first two default to the settings.
    """
    options = {"num_devices": number_of_devices(), "asynchronous": config.cpu_asynchronous, **options}
    if config.cpu_allocator != "default":
        keep_freed_memory(while_idle=config.cpu_allocator == "hold")
    if config.cpu_threads is not None:
        # The only way that XLA offers. It stays: it is also part of what compiled programs are kept under.
        os.environ["NPROC"] = str(config.cpu_threads)
    return make_cpu_client(**options)


def stand_ins(name):
    """The raw devices of a client of its own with as many as `name` says: "8". Programs are compiled for
    them, and run on none.
    """
    try:
        number = count(str(name).removeprefix("cpu:"))
    except ValueError as error:
        raise ConfigError(
            f"there is no CPU topology {name!r}: a number of devices, as in '8'; {error}"
        ) from None
    if number > MOST_STAND_INS:
        raise ConfigError(
            f"the CPU topology {name!r} has {number} devices; up to {MOST_STAND_INS} can be stood in for"
        )
    return make_cpu_client(num_devices=number, asynchronous=False).devices()


def doctor():
    """Return the lines of `rabbet doctor` about the CPU, each as (label, ok, detail)."""
    keep = config.cpu_allocator != "default"
    pays = not keep or (is_glibc() and not config.cpu_asynchronous)
    if not keep:
        detail = "the system's own settings (RABBET_CPU_ALLOCATOR=default)"
    elif not is_glibc():
        detail = "the system's own settings: this is not glibc, so RABBET_CPU_ALLOCATOR has no effect"
    elif config.cpu_asynchronous:
        detail = "keeps freed memory, which gains little with RABBET_CPU_ASYNCHRONOUS=1"
    else:
        until = "" if config.cpu_allocator == "hold" else " until it is idle"
        detail = f"keeps freed memory{until} (RABBET_CPU_ALLOCATOR=default turns that off)"
    return [
        ("cpu client", True, f"in jaxlib {jaxlib_version()}; {os.cpu_count()} processors"),
        ("cpu devices", True, f"{number_of_devices()} (RABBET_NUM_CPU_DEVICES)"),
        ("cpu threads", True, f"{config.cpu_threads or 'one for each processor'} (RABBET_CPU_THREADS)"),
        ("cpu allocator", pays, detail),
    ]


_cut_along_batches: set = set()  # calls of which the compiler knows that batches can be cut


def provide_calls(targets):
    """Register LAPACK, which takes a while, and products of sparse matrices, if a program calls them."""
    if any("lapack_" in name or name.startswith("tridiagonal_solve") for name in targets):
        provide_lapack()
        for name in targets:
            if "lapack_" in name and name not in _cut_along_batches:
                _cut_along_batches.add(name)
                register_batch_partitionable(name)
    if SPARSE_PRODUCT in targets:
        provide_sparse_products()


def program_options(text):
    """The options of `config.cpu_kernels`, or those that suit the program's convolutions, one for loops that
    stack much, one for many small products, and one for loops with a barrier in them.

    Such loops are not compiled as one kernel: the code generator for that cannot read barriers, and ends the
    process on one of several operands.
    """
    options = KERNELS[config.cpu_kernels]
    if not options and convolution_kernels.are_faster_in_eigen(text):
        options = WITHOUT_CONVOLUTIONS
    if long_stacks.are_read_whole(text):
        options = {**long_stacks.SAVES_MEMORY, **options}
    elif small_arrays.are_multiplied_often(text):
        options = {**small_arrays.IN_TURN, **options}
    if "stablehlo.while" in text and has_barrier_in_region(text):
        return {"xla_disable_hlo_passes": "small-while-loop-hoisting", **options}
    return options


def has_barrier_in_region(text):
    """Return whether a barrier stands in the body of an operation, or in a function that one may call."""
    main, seen, depth, function = "func.func public", 0, 0, 0
    for barrier in re.finditer("optimization_barrier ", text):
        place = barrier.start()
        depth += text.count("({\n", seen, place) - text.count("\n})", seen, place)
        function = max(function, text.rfind("func.func ", seen, place))
        seen = place
        if depth or not text.startswith(main, function):
            return True
    return False


CONVOLUTION = "rabbet_convolution"
LINALG = "rabbet.lax.linalg"
SPARSE = "rabbet.experimental.sparse"
SPARSE_PRODUCT = "cpu_csr_sparse_dense_ffi"
LOWERINGS = RuleSet("lower")
LOWERINGS.later("rabbet_pjrt_cpu.lowering.convolutions", "conv_general_dilated", owner=CONVOLUTION)
LOWERINGS.later("rabbet_pjrt_cpu.lowering.windows", "select_and_scatter_add", owner=CONVOLUTION)
LOWERINGS.later("rabbet_pjrt_cpu.lowering.contractions", "dot_general")
LOWERINGS.later("rabbet_pjrt_cpu.lowering.exponentials", "exp", "logistic", "cosh", "sinh")
LOWERINGS.later("rabbet_pjrt_cpu.lowering.extremes", "reduce_max", "reduce_min")
LOWERINGS.later("rabbet_pjrt_cpu.lowering.extremes", "pmax", "pmin", owner="rabbet_collectives")
LOWERINGS.later("rabbet_pjrt_cpu.lowering.factors", "cholesky", "lu", owner=LINALG)
LOWERINGS.later(
    "rabbet_pjrt_cpu.lowering.orthogonal", "geqp3", "geqrf", "householder_product", "ormqr", owner=LINALG
)  # fmt: skip
LOWERINGS.later("rabbet_pjrt_cpu.lowering.reductions", "hessenberg", "schur", "tridiagonal", owner=LINALG)
LOWERINGS.later("rabbet_pjrt_cpu.lowering.solving", "triangular_solve", "tridiagonal_solve", owner=LINALG)
LOWERINGS.later("rabbet_pjrt_cpu.lowering.spectral", "eig", "eigh", "svd", owner=LINALG)
LOWERINGS.later("rabbet_pjrt_cpu.lowering.sparse_products", "sparse_rows_product", owner=SPARSE)

BACKEND = Backend(
    platform="cpu",
    priority=0,
    make_client=make_client,
    native_dtypes=frozenset(
        "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()
    ),
    lowerings=LOWERINGS,
    provide_calls=provide_calls,
    # Keeps optimization barriers until fusion; without it XLA drops them early and they have no effect at
    # all.
    compile_options={"xla_disable_hlo_passes": "cse_barrier_expander"},
    program_options=program_options,
    settings=(NUM_DEVICES, THREADS, ALLOCATOR, KERNEL_CHOICE),
    doctor=doctor,
    stand_ins=stand_ins,
    python_call="xla_ffi_python_cpu_callback",
)
