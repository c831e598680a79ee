"""The settings of core, as a table. What each accepts is in ``setting``."""

from __future__ import annotations

import enum
from typing import Any

from rabbet.config.setting import (
    Setting,
    boolean,
    choice,
    laying,
    names,
    number,
    pairs,
    path,
    place,
    precision,
    seconds,
    size,
)


class ExplicitX64(enum.StrEnum):
    """The values of ``explicit_x64_dtypes``: texts, with names for programs that write them as names."""

    ALLOW = "allow"
    WARN = "warn"
    ERROR = "error"
    __repr__ = str.__repr__


GUARDS = choice("allow", "log", "disallow", "log_explicit", "disallow_explicit", none=True)
LEVEL_NAMES = choice("UNKNOWN", "O0", "O1", "O2", "O3")
LEVELS = choice("NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def effort(value: Any) -> float:
    """A level by its name, or a member of an enum with such names."""
    return LEVEL_NAMES(getattr(value, "name", value))


CORE_SETTINGS = (
    Setting("enable_x64", False, boolean, traced=True, jax=True, context=True,
            doc="Python scalars and NumPy's 64-bit values keep 64 bits where no dtype was given."),
    Setting("default_matmul_precision", None, precision, traced=True, jax=True, context=True,
            example="highest",
            doc="Precision of matrix products and convolutions that ask for none."),
    Setting("numpy_rank_promotion", "allow", choice("allow", "warn", "raise"), traced=True, jax=True,
            context=True,
            example="raise", doc="What to do when an operation broadcasts arrays of different rank."),
    Setting("disable_jit", False, boolean, traced=True, jax=True, context=True,
            doc="Run jitted functions and control flow op by op, with values that can be looked at."),
    Setting("default_device", None, place, traced=True, jax=True, context=True,
            example="cpu",
            doc="Device for new arrays: a Device, or a platform such as 'cpu'."),
    Setting("debug_nans", False, boolean, traced=True, jax=True, context=True,
            doc="Raise FloatingPointError when a computation returns NaN."),
    Setting("debug_infs", False, boolean, traced=True, jax=True, context=True,
            doc="Raise FloatingPointError when a computation returns an infinity."),
    Setting("no_execution", False, boolean, traced=True, jax=True, context=True,
            doc="Raise a RuntimeError where a compiled program would run, be it a single operation."),
    Setting("log_compiles", False, boolean, jax=True, context=True,
            doc="Log a line at WARNING for every program that is traced and compiled."),
    Setting("explain", False, boolean,
            doc="Say why jitted functions are traced, and how long each stage took, at WARNING."),
    Setting("enable_checks", False, boolean, jax=True, context=True,
            doc="Check every jaxpr after every transformation and pass (slow)."),
    Setting("disable_passes", None, names, traced=True,
            doc="Passes that do not run, by name, separated by commas ('python -m rabbet passes' lists "
            "them)."),
    Setting("enable_passes", None, names, traced=True,
            doc="Passes to run that are off by default, by name, separated by commas."),
    Setting("platforms", None, names, jax=True,
            doc="Platforms to use, in order of preference, separated by commas; None: every one installed."),
    Setting("operation_attributes", (), pairs, traced=True,
            doc="Attributes that traced operations carry in compiled programs, pairs of texts; "
            "experimental.xla_metadata sets them for a block, and setting them here alone changes nothing."),
    Setting("cache", True, boolean, doc="Keep compiled programs on disk."),
    Setting("cache_dir", None, path,
            doc="Folder for compiled programs; None: 'rabbet' in the user's cache folder (XDG_CACHE_HOME)."),
    Setting("cache_max_bytes", 4 * 2**30, size,
            doc="Size limit of the folder of compiled programs; the least recently used go first."),
    Setting("compiled_max_bytes", 2 * 2**30, size,
            doc="How much memory compiled programs may take in a process, by estimate; those not used lately "
            "go first. What users hold themselves, as by compile(), is not forgotten; 0: no limit."),
    Setting("cache_read_ahead", True, boolean,
            doc="Load the compiled programs that a script used last while it starts, in a thread; read "
            "when the first array is made."),
    Setting("check_narrowing", True, boolean,
            doc="Refuse 64-bit integers that do not fit 32 bits; warn of floats that become infinite there."),
    Setting("traceback", "fold", choice("fold", "full", "mark", "cause"), lenient=True,
            doc="What becomes of Rabbet's own frames in tracebacks: fold hides them, full shows them, mark "
            "tells pytest and IPython to hide them, cause hides them; the error's cause then has them all."),
    Setting("native", True, boolean,
            doc="Let an installed package make the call of compiled functions, in C for example; read when "
            "jit is called."),
    Setting("cpu_asynchronous", False, boolean,
            doc="Let calls on CPU return before their result is there; read when the CPU client is made."),
    Setting("numpy_dtype_promotion", "standard", choice("standard", "strict"), traced=True, jax=True,
            context=True,
            example="strict",
            doc="strict: operations between arrays of different dtypes are errors instead of promoting."),
    Setting("explicit_x64_dtypes", ExplicitX64.ALLOW, choice(*ExplicitX64), traced=True, jax=True,
            doc="What a 64-bit dtype that is written out means while enable_x64 is off: itself, 32 bits with "
            "a warning, or an error."),
    Setting("python_int_overflow", "error", choice("error", "wrap"), traced=True,
            doc="What a Python int means beside an array whose dtype cannot hold it: an error, or, where the "
            "default int holds it, its value modulo two to the number of bits."),
    Setting("mesh_axis_types", "auto", choice("auto", "explicit"),
        doc="The type of axes where make_mesh and AbstractMesh get no axis_types; explicit, as in JAX."),
    Setting("mesh_rules", "named", choice("named", "everywhere"),
            doc="What rb.set_mesh(mesh) does. named: specs alone are meant on the mesh. everywhere, as in "
            "JAX: uncommitted arrays too are computed on all of its devices, and types show the mesh."),
    Setting("default_sharding", None, laying, traced=True,
            doc="The sharding over several devices of programs whose arguments are uncommitted; rb.set_mesh "
            "sets it where mesh_rules is 'everywhere'."),
    Setting("index_rules", "checked", choice("checked", "clamped"), traced=True,
            doc="What static indices may be. checked, as in NumPy: an integer out of range is an IndexError, "
            "and a list is an array of positions. clamped, as in JAX: an integer out of range is treated as "
            "a computed one, a list alone is refused, and a mask without elements selects nothing."),
    Setting("keep_bodies", False, boolean,
            doc="Whether a function of a loop or branch outside of other transformations, and one that is "
            "given to jit again, is traced once for each types, as JAX does; otherwise at each call or jit, "
            "so that what it reads counts as it is then."),
    Setting("check_tracer_leaks", False, boolean, traced=True, jax=True, context=True,
            doc="Raise an error where a tracer outlives the transformation that made it (slow)."),
    Setting("no_tracing", False, boolean, jax=True, context=True,
            doc="Raise an error where a jitted function would be traced."),
    Setting("transfer_guard_host_to_device", None, GUARDS, jax=True, context=True,
            example="disallow",
            doc="Whether values of the host that a call gives may become arrays without device_put: allow, "
            "log or disallow; with log_explicit and disallow_explicit device_put counts too."),
    Setting("transfer_guard_device_to_device", None, GUARDS, jax=True, context=True,
            example="disallow",
            doc="The same of copies from one device to another."),
    Setting("transfer_guard_device_to_host", None, GUARDS, jax=True, context=True,
            example="disallow",
            doc="The same of values that are read on the host without device_get. On the CPU, reading is no "
            "transfer."),
    Setting("captured_constants_warn_bytes", 2_000_000_000, number, jax=True,
            doc="Warn of a compiled function that captures arrays of more bytes in all; -1: never."),
    Setting("captured_constants_written_bytes", 1024, number, traced=True,
            doc="Up to so many bytes, an array that a compiled function captures may be written into the "
            "program (on the CPU); 0: each is an argument."),
    Setting("optimization_level", "UNKNOWN", effort, traced=True, jax=True,
            doc="How much the compiler should do for speed: O0 to O3, or UNKNOWN, its own choice."),
    Setting("memory_fitting_level", "UNKNOWN", effort, traced=True, jax=True,
            doc="How much the compiler should do to fit programs into memory, as optimization_level."),
    Setting("disable_most_optimizations", False, boolean, traced=True, jax=True,
            doc="Compile without most optimizations: quick to compile, slow to run."),
    Setting("dump_ir_to", None, path, jax=True,
            doc="Folder for the programs that are lowered, a file each."),
    Setting("dump_ir_modes", ("stablehlo",), names, jax=True,
            doc="What dump_ir_to writes: stablehlo, jaxpr, or both, separated by commas."),
    Setting("logging_level", "NOTSET", LEVELS, jax=True, lenient=True,
            doc="The level of the logger 'rabbet'."),
    Setting("debug_log_modules", None, names, jax=True,
            doc="Loggers that show everything, by name, separated by commas, such as 'rabbet'."),
    # Measured on CPU: the smallest program compiles in 19 ms, is stored in 0.6 ms and loaded in 0.9 ms; one
    # of 50 matrix products in 58, 3.5 and 11 ms. So nearly everything is worth keeping.
    Setting("cache_min_seconds", 0.003, seconds,
            doc="Programs that took less time to compile are not kept on disk."),
    Setting("cache_min_bytes", 0, number, doc="Programs of fewer bytes are not kept on disk."),
)  # fmt: skip
