"""Evaluating laws: one program for all the arrays of a row's laws, run once, then compared in NumPy."""

import numpy as np

from rabbet import config, dtypes
from rabbet.extend.backend import compile_program, lower_program
from rabbet.extend.passes import check, consts_as_inputs, stage
from rabbet.extend.transform import typeof
from rabbet.testing import kinds, laws
from rabbet.testing.draws import device_array
from rabbet.testing.driver import CORE
from rabbet.testing.laws import LawError

# Relative tolerances: what a few roundings in the dtype amount to.
TOLERANCES = {
    "float64": 1e-12, "complex128": 1e-12, "float32": 1e-5, "complex64": 1e-5, "float16": 4e-3,
    "bfloat16": 3e-2,
}  # fmt: skip

# Vectors that are found by iterating: XLA's own eigenvectors in double precision are no better.
ITERATED = 1e-8

# The values at which functions are most often wrong.
EXTREMES = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, 2.0)

# Each program of laws runs once, on a few numbers: compiling it is all that it costs. The CPU's compiler is
# not to take small programs apart, to compile the parts in threads: that costs more than it gains.
COMPILE_FAST = {
    "xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_parallel_codegen_split_count": 1,
}  # fmt: skip

SIZE = 2  # examples in a batch


def check_value(row, dtype):
    """Called on arrays, the primitive computes what NumPy does."""
    _compare_with_numpy(row, dtype, row.draw(dtype), row.name)


def check_extremes(row, dtype="float32"):
    """Infinities, NaN and signed zeros give what NumPy gives. Whether ``config.debug_nans`` and
    ``debug_infs`` would have them is no matter here.
    """
    arrays = np.meshgrid(*[np.array(EXTREMES, dtypes.canonicalize(dtype)) for _ in row.inputs])
    with config.override(debug_nans=False, debug_infs=False):
        _compare_with_numpy(row, dtype, [a.ravel() for a in arrays], f"{row.name} at extremes")


def _compare_with_numpy(row, dtype, arrays, label):
    outs = row.function(dtype)(*[device_array(a) for a in arrays])
    agree_with_numpy(row, dtype, arrays, outs, label)


def check_rows_in(rows, dtype):
    """In one dtype all rows compute what NumPy does, as parts of one program."""
    drawn = [row.draw(dtype) for row in rows]
    counts = []

    def each_row(*operands):
        each, outs = iter(operands), []
        for row, arrays in zip(rows, drawn, strict=True):
            results = row.function(dtype)(*[next(each) for _ in arrays])
            counts.append(len(results))
            outs += results
        return outs

    label = f"{len(rows)} rows in {dtype}" if len(rows) > 1 else rows[0].name
    results = iter(evaluated(each_row, [device_array(a) for arrays in drawn for a in arrays], label))
    for row, arrays, count in zip(rows, drawn, counts, strict=True):
        outs = [next(results) for _ in range(count)]
        agree_with_numpy(row, dtype, arrays, outs, f"{row.name} in {dtype}")


def check_dtypes(row, names=None):
    """In each dtype (all of the row's) the primitive computes what NumPy does, as part of a program; one
    program for all.
    """
    names = row.known_dtypes() if names is None else names
    drawn = [row.draw(name) for name in names]
    counts = []

    def in_each(*operands):
        each, outs = iter(operands), []
        for name, arrays in zip(names, drawn, strict=True):
            results = row.function(name)(*[next(each) for _ in arrays])
            counts.append(len(results))
            outs += results
        return outs

    results = iter(evaluated(in_each, [device_array(a) for arrays in drawn for a in arrays], row.name))
    for name, arrays, count in zip(names, drawn, counts, strict=True):
        outs = [next(results) for _ in range(count)]
        agree_with_numpy(row, name, arrays, outs, f"{row.name} in {name}")


def agree_with_numpy(row, dtype, arrays, outs, label):
    """Compare results with the row's reference."""
    expected = row.expected(arrays)
    if len(outs) != len(expected):
        raise LawError(f"{label}: {len(outs)} results, wanted {len(expected)}")
    for out in outs:
        if np.asarray(out).dtype != out.dtype:
            raise LawError(f"{label}: computed {np.asarray(out).dtype}, declared {out.dtype}")
    loose = [row.loose * tolerance(dtype, out) for out in outs]
    if row.settle is not None:
        outs, expected = row.settle(*map(np.asarray, outs)), row.settle(*map(np.asarray, expected))
        loose = [max(rtol, ITERATED) for rtol in loose]
    for out, wanted, rtol in zip(outs, expected, loose, strict=True):
        compare(label, out, wanted, rtol)


def check_law(row, law, system=CORE, dtype=None, seed=0):
    """One of ``laws.LAWS`` holds for a row, in one dtype."""
    check_laws(row, [law], system, dtype, seed)


def check_laws(row, names, system=CORE, dtype=None, seed=0, staged=True):
    """Several laws hold for a row in one dtype; in one program, or uncompiled if not ``staged``."""
    dtype = dtype or row.main_dtype()
    fn = row.function(dtype)
    if row.settle_traced is not None:
        fn = settled(fn, row.settle_traced)
    examples = [row.draw(dtype, seed + i) for i in range(SIZE)]
    stacks = [device_array(np.stack(column)) for column in zip(*examples, strict=True)]
    first = [device_array(a) for a in examples[0]]
    labels = []

    def both_sides(*operands):
        stacked, args = operands[: len(stacks)], operands[len(stacks) :]
        pairs = []
        for name in names:
            if name not in row.apart:
                pairs += laws.LAWS[name](system, fn, stacked if name in laws.OF_BATCHES else args)
        labels.extend(p.label for p in pairs)
        return [side for p in pairs for side in (p.got, p.wanted)]

    where = f"{row.name} in {dtype}"
    operands = [*stacks, *first]
    results = evaluated(both_sides, operands, where) if staged else both_sides(*operands)
    for label, got, wanted in zip(labels, results[::2], results[1::2], strict=True):
        # Finite differences are good for nine digits, and of derivatives for a few less.
        loose = {"jvp: t": 1e4, "jvp of": 1e6}.get(label[:6], 10.0) * row.loose
        compare(f"{where}: {label}", got, wanted, loose * tolerance(dtype, got))


def settled(fn, settle):
    """``fn`` with one form for all of its results that are equally right."""

    def apply(*args):
        return tuple(settle(*fn(*args)))

    apply.__name__ = fn.__name__
    return apply


def evaluated(fn, args, label):
    """Run ``fn``, which returns a list of arrays, as one program, checked against the grammar of programs."""
    closed = check(stage(fn, [typeof(a) for a in args], "laws"))
    lowering = lower_program(consts_as_inputs(closed), name=f"laws of {label}")
    run = compile_program(lowering, options=COMPILE_FAST).runner(False)
    return run([*closed.consts, *args])


def check_kinds(row, seed=0):
    """The primitive obeys the laws of the kinds that it declares, by sampling."""
    for kind in row.primitive.kinds:
        law = kinds.KIND_LAWS.get(kind)
        if law is None or kind in row.apart:
            continue
        try:
            law(row, seed)
        except LawError:
            raise
        except Exception as error:  # such as a reduction of two operands
            raise LawError(
                f"{row.name} declares the kind {kind!r}, and trying its law raised "
                f"{type(error).__name__}: {error}"
            ) from error


def tolerance(dtype, out):
    """The relative tolerance for a result computed in ``dtype``; 0 where nothing is rounded."""
    kind = dtypes.kind(typeof(out).dtype)
    if kind not in "fc":
        return 0.0
    name = dtypes.spec(dtype).name
    if name in TOLERANCES or dtypes.kind(dtype) not in "fc":
        return TOLERANCES.get(name, TOLERANCES.get(typeof(out).dtype.name, 1e-5))
    return 2 * float(dtypes.finfo(dtype).eps)  # a plugin's: rounded twice


def compare(label, got, wanted, rtol):
    """Raise ``LawError`` unless two arrays agree; NaN agrees with NaN."""
    got, wanted = (np.asarray(x) for x in (got, wanted))
    if got.shape != wanted.shape:
        raise LawError(f"{label}: shape {got.shape}, wanted {wanted.shape}")
    if dtypes.kind(got.dtype) in "fc":
        wide = np.complex128 if "c" in dtypes.kind(got.dtype) + dtypes.kind(wanted.dtype) else np.float64
        with np.errstate(all="ignore"):
            # What double precision can hold may be beyond the largest number of the result's dtype.
            wanted = dtypes.host_cast(wanted, got.dtype)
        got, wanted = [dtypes.host_cast(x, np.dtype(wide)) for x in (got, wanted)]
        scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=1.0)
        if np.allclose(got, wanted, rtol=rtol, atol=rtol * min(scale, 1e3), equal_nan=True):
            return
    else:
        if got.dtype.isbuiltin != 1:  # a plugin's integers wrap as their format says
            got, wanted = got.astype(np.int64), wanted.astype(got.dtype).astype(np.int64)
        if np.array_equal(got, wanted):
            return
    raise LawError(f"{label}: got\n{got}\nwanted\n{wanted}")
