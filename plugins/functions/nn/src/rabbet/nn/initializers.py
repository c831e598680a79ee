"""Initial weights: functions ``(key, shape, dtype) -> array``, and functions that make such functions.

The scaled ones draw numbers of a variance chosen by the number of inputs or outputs of a layer (Glorot and
Bengio 2010; He et al. 2015; LeCun et al. 1998), so that signals keep their size from layer to layer.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

import rabbet.numpy as rnp
from rabbet import Array, dtypes, lax
from rabbet.errors import DTypeError
from rabbet.extend.functions import folded, public_module

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rabbet.typing import DTypeLike, Value


class Initializer(Protocol):
    """What initializers are: called with a key, a shape and a dtype, they return an array.

    Example:
      >>> def halves(key, shape, dtype=rnp.float32):
      ...     return rnp.full(shape, 0.5, dtype)
      >>> initializer: nn.initializers.Initializer = halves
      >>> initializer(random.key(0), (2,))
      Array([0.5, 0.5], dtype=float32)
    """

    def __call__(self, key, shape, dtype=None) -> Array: ...


def chosen(dtype, kinds="f"):
    """The dtype of an initializer's result.

    Raises:
      TypeError: if it is not a floating one, or a complex one where only real numbers are drawn.
    """
    dtype = dtypes.canonicalize(float if dtype is None else dtype)
    if dtypes.kind(dtype) not in kinds:
        words = "real floating" if kinds == "f" else "floating or complex"
        raise DTypeError(f"this initializer draws {words} numbers, got the dtype {dtype.name}")
    return dtype


def on_disk(key, shape, dtype, radius):
    """Complex numbers in every direction alike, whose distances from 0 are ``radius`` of numbers up to 1."""
    real = rnp.finfo(dtype).dtype
    for_radius, for_angle = random().split(key)
    angle = lax.mul(random().uniform(for_angle, shape, real), 2 * math.pi)
    length = radius(random().uniform(for_radius, shape, real))
    return lax.complex(lax.mul(length, lax.cos(angle)), lax.mul(length, lax.sin(angle)))


def random():
    """``rabbet.random``, a plugin of its own that only these functions need."""
    import rabbet

    return rabbet.random


def zeros(
    key: Value, shape: int | Sequence[int], dtype: DTypeLike | None = None, out_sharding: Any = None
) -> Value:
    """Zeros, whatever the key is.

    Example:
      >>> nn.initializers.zeros(random.key(0), (2,))
      Array([0., 0.], dtype=float32)
    """
    return rnp.zeros(shape, float if dtype is None else dtype, out_sharding=out_sharding)


def ones(
    key: Value, shape: int | Sequence[int], dtype: DTypeLike | None = None, out_sharding: Any = None
) -> Value:
    """Ones, whatever the key is.

    Example:
      >>> nn.initializers.ones(random.key(0), (2,))
      Array([1., 1.], dtype=float32)
    """
    return rnp.ones(shape, float if dtype is None else dtype, out_sharding=out_sharding)


def constant(value: Value, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer that returns ``value`` everywhere.

    Example:
      >>> nn.initializers.constant(0.5)(random.key(0), (2,))
      Array([0.5, 0.5], dtype=float32)
    """

    @folded
    def init(key, shape, dtype=dtype):
        return rnp.full(shape, value, float if dtype is None else dtype)

    return init


def uniform(scale: Value = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer that draws evenly from 0 to ``scale``.

    Example:
      >>> w = nn.initializers.uniform(scale=0.1)(random.key(0), (20,))
      >>> bool((w >= 0).all() & (w < 0.1).all())
      True
    """

    @folded
    def init(key, shape, dtype=dtype):
        dtype = chosen(dtype)
        return lax.mul(random().uniform(key, shape, dtype), rnp.asarray(scale, dtype))

    return init


def normal(stddev: Value = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer that draws from the normal distribution of mean 0 and standard deviation ``stddev``.

    Example:
      >>> nn.initializers.normal(stddev=0.1)(random.key(0), (20, 30)).shape
      (20, 30)
    """

    @folded
    def init(key, shape, dtype=dtype):
        dtype = chosen(dtype, "fc")
        return lax.mul(random().normal(key, shape, dtype), rnp.asarray(stddev, dtype))

    return init


def truncated_normal(
    stddev: Value = 1e-2, dtype: DTypeLike | None = None, lower: Value = -2.0, upper: Value = 2.0
) -> Initializer:
    """An initializer that draws from a normal distribution cut off at ``lower`` and ``upper`` times
    ``stddev``.

    Example:
      >>> nn.initializers.truncated_normal(stddev=0.1)(random.key(0), (20, 30)).shape
      (20, 30)
    """

    @folded
    def init(key, shape, dtype=dtype):
        dtype = chosen(dtype)
        return lax.mul(random().truncated_normal(key, lower, upper, shape, dtype), rnp.asarray(stddev, dtype))

    return init


# ---------------------------------------------------------------------------------- scaled by layer size
CUT_DEVIATION = 0.87962566103423978  # the standard deviation of a normal distribution cut off at -2 and 2

# What JAX divides complex numbers by that are cut off at a distance of 2, so that the numbers are the same;
# their deviation is 0.962.
CUT_COMPLEX_DEVIATION = 0.95311164380491208


def cut_length(u):
    """The distances from 0 of complex normal numbers that are cut off at 2."""
    return lax.sqrt(lax.neg(lax.log1p(lax.mul(u, math.expm1(-4.0)))))


def size_along(shape, axes):
    """How many elements an array of this shape has along some axes."""
    axes = axes if isinstance(axes, (tuple, list)) else (axes,)
    return math.prod([shape[a] for a in axes])


def fans(shape, in_axis, out_axis, batch_axis):
    """How many inputs and how many outputs a weight of this shape connects to one unit."""
    if len(shape) < 2:
        raise ValueError(
            f"a scaled initializer needs at least two dimensions, inputs and "
            f"outputs, got the shape {tuple(shape)}"
        )
    inputs, outputs = size_along(shape, in_axis), size_along(shape, out_axis)
    window = math.prod(shape) / inputs / outputs / size_along(shape, batch_axis)
    return inputs * window, outputs * window


def variance_scaling(
    scale: Value,
    mode: Any,
    distribution: str,
    in_axis: int | Sequence[int] = -2,
    out_axis: int | Sequence[int] = -1,
    batch_axis: int | Sequence[int] = (),
    dtype: DTypeLike | None = None,
) -> Initializer:
    """An initializer of the variance ``scale / n``.

    Args:
      scale: a number.
      mode: what n is: ``"fan_in"``, ``"fan_out"``, ``"fan_avg"`` (their mean), ``"fan_geo_avg"`` (their
        geometric mean).
      distribution: ``"truncated_normal"``, ``"normal"`` or ``"uniform"``.
      in_axis, out_axis, batch_axis: which dimensions are inputs, outputs and independent weights; all
        others count for both.
      dtype: of the result; complex numbers are drawn from a disk ("uniform") or from the complex normal
        distribution, where it is cut off at a distance of 2.

    Raises:
      ValueError: for another mode or distribution.

    Example:
      >>> init = nn.initializers.variance_scaling(2.0, "fan_in", "normal")
      >>> init(random.key(0), (20, 30)).shape
      (20, 30)
    """
    modes = {
        "fan_in": lambda i, o: i, "fan_out": lambda i, o: o, "fan_avg": lambda i, o: (i + o) / 2,
        "fan_geo_avg": lambda i, o: math.sqrt(i * o),
    }  # fmt: skip
    if mode not in modes:
        raise ValueError(f"variance_scaling: mode must be one of {', '.join(modes)}, got {mode!r}")
    if distribution not in ("truncated_normal", "normal", "uniform"):
        raise ValueError(
            f"variance_scaling: distribution must be truncated_normal, normal "
            f"or uniform, got {distribution!r}"
        )

    @folded
    def init(key, shape, dtype=dtype):
        dtype = chosen(dtype, "fc")
        variance = scale / modes[mode](*fans(shape, in_axis, out_axis, batch_axis))
        if distribution == "normal":
            return lax.mul(random().normal(key, shape, dtype), rnp.asarray(math.sqrt(variance), dtype))
        if dtypes.kind(dtype) == "c":
            even = distribution == "uniform"
            drawn = on_disk(key, shape, dtype, lax.sqrt if even else cut_length)
            deviation = math.sqrt(0.5) if even else CUT_COMPLEX_DEVIATION
            return lax.mul(drawn, rnp.asarray(math.sqrt(variance) / deviation, dtype))
        if distribution == "uniform":
            return lax.mul(random().uniform(key, shape, dtype, -1), math.sqrt(3 * variance))
        return lax.mul(
            random().truncated_normal(key, -2, 2, shape, dtype), math.sqrt(variance) / CUT_DEVIATION
        )

    return init


def scaled(name, scale, mode, distribution, doc):
    """Make a function that makes initializers of one scale, mode and distribution."""

    def make(
        in_axis: int | Sequence[int] = -2,
        out_axis: int | Sequence[int] = -1,
        batch_axis: int | Sequence[int] = (),
        dtype: DTypeLike | None = None,
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = (
        f"{doc} Arguments as for ``variance_scaling``.\n\n"
        f">>> nn.initializers.{name}()(random.key(0), (20, 30)).shape\n(20, 30)"
    )
    return make


glorot_uniform = xavier_uniform = scaled(
    "glorot_uniform", 1.0, "fan_avg", "uniform", "Evenly, of variance 2 / (inputs + outputs)."
)
glorot_normal = xavier_normal = scaled(
    "glorot_normal", 1.0, "fan_avg", "truncated_normal", "Normally, of variance 2 / (inputs + outputs)."
)
lecun_uniform = scaled("lecun_uniform", 1.0, "fan_in", "uniform", "Evenly, of variance 1 / inputs.")
lecun_normal = scaled("lecun_normal", 1.0, "fan_in", "truncated_normal", "Normally, of variance 1 / inputs.")
he_uniform = kaiming_uniform = scaled(
    "he_uniform", 2.0, "fan_in", "uniform", "Evenly, of variance 2 / inputs."
)
he_normal = kaiming_normal = scaled(
    "he_normal", 2.0, "fan_in", "truncated_normal", "Normally, of variance 2 / inputs."
)


def orthogonal(scale: Value = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None) -> Initializer:
    """An initializer that draws matrices with orthonormal columns (or rows, if these are fewer), evenly
    among all of them (Saxe et al. 2013; the signs as in Mezzadri 2007).

    Args:
      scale: what they are multiplied by.
      column_axis: the axis of the columns; the others together are the rows.

    Returns:
      a function ``(key, shape, dtype)``. It raises a ValueError for fewer than two dimensions.

    Example:
      >>> w = rb.nn.initializers.orthogonal()(rb.random.key(0), (3, 3))
      >>> bool(rnp.allclose(w @ w.T, rnp.eye(3), atol=1e-5))
      True
    """

    @folded
    def init(key, shape, dtype=dtype, out_sharding=None):
        kind = dtypes.canonicalize(float if dtype is None else dtype)
        if len(shape) < 2:
            raise ValueError(f"orthogonal draws matrices: the shape has two dimensions or more, got {shape}")
        columns = shape[column_axis]
        rows = math.prod(shape) // max(columns, 1)
        drawn = random().normal(key, (max(rows, columns), min(rows, columns)), kind)
        q, r = rnp.linalg.qr(drawn)
        q = q * rnp.sign(rnp.diagonal(r))
        q = q.T if rows < columns else q
        others = list(shape)
        del others[column_axis]
        return lax.mul(rnp.moveaxis(q.reshape(*others, columns), -1, column_axis), rnp.asarray(scale, kind))

    return init


def delta_orthogonal(
    scale: Value = 1.0, column_axis: int = -1, dtype: DTypeLike | None = None
) -> Initializer:
    """An initializer for kernels of convolutions: zeros but for an orthogonal matrix in the middle, so that
    the convolution keeps lengths (Xiao et al. 2018). Arguments as for ``orthogonal``.

    Returns:
      a function ``(key, shape, dtype)``, with the inputs and outputs as the last two of three to five
      dimensions. It raises a ValueError for another number, or more inputs than outputs.

    Example:
      >>> kernel = nn.initializers.delta_orthogonal()(random.key(0), (3, 3, 2, 2))
      >>> rnp.allclose(kernel[1, 1] @ kernel[1, 1].T, rnp.eye(2), atol=1e-5)
      Array(True, dtype=bool)
    """

    @folded
    def init(key, shape, dtype=dtype, out_sharding=None):
        kind = dtypes.canonicalize(float if dtype is None else dtype)
        if not 3 <= len(shape) <= 5:
            raise ValueError(f"delta_orthogonal draws kernels of 3 to 5 dimensions, got the shape {shape}")
        if shape[-1] < shape[-2]:
            raise ValueError(
                f"delta_orthogonal needs as many outputs as inputs or more, got {shape[-2]} inputs and "
                f"{shape[-1]} outputs"
            )
        matrix = orthogonal(scale, column_axis, kind)(key, tuple(shape[-2:]))
        middle = tuple([(size - 1) // 2 for size in shape[:-2]])
        return rnp.zeros(shape, kind).at[middle].set(matrix)

    return init


__all__ = [
    "Initializer",
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]


public_module(globals())
