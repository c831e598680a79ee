"""Layer norm and rms norm: an array is read once forward and once for the derivatives, where kernels are."""

import functools
from typing import NamedTuple

import rabbet as rb
import rabbet.experimental.pallas as pl
import rabbet.numpy as rnp
from rabbet import lax

# Elements of a block, by platform, and how many programs share the rows in the derivative on a GPU.
ELEMENTS = {"cuda": 4096, "tpu": 1 << 17}
MOST_COLUMNS = {"cuda": 1 << 14, "tpu": 1 << 15}
PROGRAMS = 256
DTYPES = ("float32", "bfloat16", "float16")


def layer_norm(x, scale, bias, *, epsilon=1e-5):
    """``(x - mean) / sqrt(variance + epsilon) * scale + bias``, along the last dimension.

    By kernels on GPUs and TPUs, by plain operations elsewhere, and where a kernel cannot be: for other dtypes
    than float32, bfloat16 and float16, and for very long rows. Computed in float32.

    Args:
      x: ``(..., size)``.
      scale, bias: ``(size,)``.
      epsilon: a number.

    Returns:
      an array like ``x``.

    Raises:
      ValueError: for shapes that do not fit.

    Example:
      >>> from rabbet_kernels.normalizing import layer_norm
      >>> layer_norm(rnp.array([[1.0, 2.0, 3.0]]), rnp.ones(3), rnp.zeros(3)).round(2)
      Array([[-1.22,  0.  ,  1.22]], dtype=float32)
    """
    return normalized("layer_norm", True, x, (scale, bias), epsilon)


def rms_norm(x, scale, *, epsilon=1e-6):
    """``x / sqrt(mean(x ** 2) + epsilon) * scale``, along the last dimension; see ``layer_norm``.

    Args:
      x: ``(..., size)``.
      scale: ``(size,)``.
      epsilon: a number.

    Returns:
      an array like ``x``.

    Raises:
      ValueError: for shapes that do not fit.

    Example:
      >>> from rabbet_kernels.normalizing import rms_norm
      >>> rms_norm(rnp.array([[3.0, -3.0]]), rnp.ones(2)).round(2)
      Array([[ 1., -1.]], dtype=float32)
    """
    return normalized("rms_norm", False, x, (scale,), epsilon)


class Options(NamedTuple):
    """What is known of a call when it is traced."""

    centered: bool
    epsilon: float
    platform: str


def normalized(name, centered, x, factors, epsilon):
    x, *factors = [rnp.asarray(a) for a in (x, *factors)]
    if not x.ndim or any(f.shape != x.shape[-1:] for f in factors):
        shapes = ", ".join([str(tuple(a.shape)) for a in (x, *factors)])
        raise ValueError(f"{name}: arrays of shapes {shapes}\n  to fix: (..., size), and (size,) for others")
    if x.dtype.kind != "f" and "float" not in str(x.dtype):
        raise ValueError(f"{name}: elements of dtype {x.dtype}\n  to fix: floats")
    rows = rnp.reshape(x, (-1, x.shape[-1])) if x.ndim != 2 else x
    plain = functools.partial(directly, Options(centered, epsilon, ""))
    kernels = {}
    for platform in ("cuda", "tpu"):
        if supports(platform, rows):
            kernels[platform] = functools.partial(by_kernels, Options(centered, epsilon, platform))
    if not kernels:
        return lax.reshape(plain(rows, *factors), x.shape)
    return lax.reshape(lax.platform_dependent(rows, *factors, default=plain, **kernels), x.shape)


def supports(platform, x):
    known = all(isinstance(n, int) and n > 0 for n in x.shape)
    dtypes = DTYPES if platform == "cuda" else DTYPES[:2]
    return known and x.shape[1] <= MOST_COLUMNS[platform] and str(x.dtype) in dtypes


def directly(options, x, scale, bias=None):
    """By plain operations."""
    wide = x.astype("float32") if x.dtype.itemsize < 4 else x
    if options.centered:
        wide = wide - rnp.mean(wide, 1, keepdims=True)
    out = wide * lax.rsqrt(rnp.mean(wide * wide, 1, keepdims=True) + options.epsilon) * scale
    return (out if bias is None else out + bias).astype(x.dtype)


@functools.partial(rb.custom_rules, nondiff_argnums=(0,))
def by_kernels(options, x, *factors):
    """The result of ``(rows, size)``."""
    return forward(options, x, *factors)[0]


@by_kernels.def_rule("vjp")
def by_kernels_vjp(options, x, *factors):
    out, *known = forward(options, x, *factors)

    def pull(given):
        of_x, *of_factors = backward(options, given, x, factors[0], *known)
        return (of_x, *[c.astype(f.dtype) for c, f in zip(of_factors, factors, strict=True)])

    return out, pull


@by_kernels.def_rule("jvp")
def by_kernels_jvp(options, primals, tangents):
    return rb.jvp(functools.partial(directly, options), tuple(primals), tuple(tangents))


def blocks(options, x):
    """How many rows a block has, and columns: on a GPU a power of two."""
    count, size = x.shape
    columns = 1 << (size - 1).bit_length() if options.platform == "cuda" else size
    rows = max(1, ELEMENTS[options.platform] // columns)
    rows = 1 << (min(rows, count).bit_length() - 1)
    return (rows if options.platform == "cuda" else min(max(8, rows), 1024)), columns


def of_row(values, size):
    """Values of the columns that there are; zeros behind them."""
    if values.shape[1] == size:
        return values
    return rnp.where(lax.broadcasted_iota("int32", values.shape, 1) < size, values, 0.0)


def total(x):
    return rnp.sum(x, 1, keepdims=True)


def forward(options, x, scale, bias=None):
    """The result, and of each row the mean (if it is subtracted) and one over the deviation, as a column."""
    count, size = x.shape
    rows, columns = blocks(options, x)
    factors = [scale] if bias is None else [scale, bias]

    def kernel(x, *refs):
        *factors, out, means, scales = refs if options.centered else (*refs[:-1], None, refs[-1])
        values = of_row(x[...].astype("float32"), size)
        if options.centered:
            mean = total(values) / size
            values = of_row(values - mean, size)
            means[...] = mean
        one = lax.rsqrt(total(values * values) / size + options.epsilon)
        scales[...] = one
        found = values * one * factors[0][...].astype("float32")
        if len(factors) > 1:
            found = found + factors[1][...].astype("float32")
        out[...] = found.astype(out.dtype)

    block, column = [pl.BlockSpec((rows, n), lambda i: (i, 0)) for n in (columns, 1)]
    whole = pl.BlockSpec((1, columns), lambda i: (0, 0))
    of_rows = [rb.ShapeDtypeStruct((count, 1), "float32")] * (2 if options.centered else 1)
    return pl.pallas_call(
        kernel, [rb.ShapeDtypeStruct(x.shape, x.dtype), *of_rows], grid=pl.cdiv(count, rows), name="norm",
        in_specs=[block, *[whole] * len(factors)], out_specs=[block, *[column] * len(of_rows)],
    )(x, *[f[None] for f in factors])  # fmt: skip


def backward(options, given, x, scale, *known):
    """The cotangents of ``x``, of the scale, and if means are subtracted of the bias, in float32.

    For the factors programs add up what their rows have. On a TPU each adds to what the one before it left;
    on a GPU a program has several blocks of rows, and the sums of programs are added up behind.
    """
    count, size = x.shape
    rows, columns = blocks(options, x)
    in_turn = options.platform != "cuda"
    steps = 1 if in_turn else pl.cdiv(pl.cdiv(count, rows), PROGRAMS)
    programs = pl.cdiv(count, rows * steps)

    def kernel(given, x, scale, *refs):
        known, (out, *sums) = refs[: 1 + options.centered], refs[1 + options.centered :]
        first = pl.program_id(0) * rows * steps

        def step(i, totals):
            place = pl.ds(pl.multiple_of(i * rows, rows), rows)
            here = lax.broadcasted_iota("int32", (rows, 1), 0) + first + i * rows < count
            change = rnp.where(here, of_row(given[place, :].astype("float32"), size), 0.0)
            one = known[-1][place, :]
            values = x[place, :].astype("float32")
            values = values - known[0][place, :] if options.centered else values
            values = rnp.where(here, of_row(values * one, size), 0.0)
            weighted = change * of_row(scale[...].astype("float32"), size)
            found = weighted - values * (total(weighted * values) / size)
            if options.centered:
                found = found - total(weighted) / size
            out[place, :] = (found * one).astype(out.dtype)
            new = [change * values, change][: len(totals)]
            return [t + rnp.sum(n, 0, keepdims=True) for t, n in zip(totals, new, strict=True)]

        zeros = [rnp.zeros((1, columns), "float32") for _ in sums]
        found = step(0, zeros) if in_turn else lax.fori_loop(0, steps, step, zeros)
        if not in_turn:
            for ref, one in zip(sums, found, strict=True):
                ref[...] = one
            return

        @pl.when(pl.program_id(0) == 0)
        def _():
            for ref in sums:
                ref[...] = rnp.zeros(ref.shape, "float32")

        for ref, one in zip(sums, found, strict=True):
            ref[...] += one

    block, column = [pl.BlockSpec((rows * steps, n), lambda i: (i, 0)) for n in (columns, 1)]
    whole = pl.BlockSpec((1, columns), lambda i: (0, 0))
    each = pl.BlockSpec((None, 1, columns), lambda i: (0 if in_turn else i, 0, 0))
    struct = rb.ShapeDtypeStruct((1 if in_turn else programs, 1, size), "float32")
    count_of = 1 + options.centered
    out, *sums = pl.pallas_call(
        kernel, [rb.ShapeDtypeStruct(x.shape, x.dtype), *[struct] * count_of], grid=programs,
        name="norm_gradient", in_specs=[block, block, whole, *[column] * count_of],
        out_specs=[block, *[each] * count_of],
    )(given, x, scale[None], *known)  # fmt: skip
    return out, *[rnp.sum(s, (0, 1)) for s in sums]


__all__ = ["layer_norm", "rms_norm"]
