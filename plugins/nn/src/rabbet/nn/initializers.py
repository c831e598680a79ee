"""Initial weights: functions ``(key, shape, dtype) -> array``, and functions that make such functions.

The scaled ones draw numbers of a variance chosen by the number of inputs or outputs of a layer (Glorot and
Bengio 2010; He et al. 2015; LeCun et al. 1998), so that signals keep their size from layer to layer.
"""

import math
from typing import Protocol

import rabbet.numpy as rnp
from rabbet import Array, dtypes, lax
from rabbet.extend.functions import folded, public_module


class Initializer(Protocol):
    """What initializers are: called with a key, a shape and a dtype, they return an array."""

    def __call__(self, key, shape, dtype=None) -> Array: ...


def chosen(dtype, default=None):
    """The dtype of an initializer's result.

    Raises:
      TypeError: if it is not a real floating one.
    """
    dtype = dtype if dtype is not None else default if default is not None else float
    dtype = dtypes.canonicalize(dtype)
    if dtypes.kind(dtype) != "f":
        raise TypeError(f"initializers draw real floating numbers, got the dtype {dtype.name}")
    return dtype


def random():
    """``rabbet.random``, a plugin of its own that only these functions need."""
    import rabbet

    return rabbet.random


def zeros(key, shape, dtype=None, out_sharding=None):
    """Zeros, whatever the key is.

    Example:
      >>> nn.initializers.zeros(random.key(0), (2,))
      Array([0., 0.], dtype=float32)
    """
    return rnp.zeros(shape, float if dtype is None else dtype, out_sharding=out_sharding)


def ones(key, shape, dtype=None, out_sharding=None):
    """Ones, whatever the key is.

    Example:
      >>> nn.initializers.ones(random.key(0), (2,))
      Array([1., 1.], dtype=float32)
    """
    return rnp.ones(shape, float if dtype is None else dtype, out_sharding=out_sharding)


def constant(value, dtype=None):
    """An initializer that returns ``value`` everywhere.

    Example:
      >>> nn.initializers.constant(0.5)(random.key(0), (2,))
      Array([0.5, 0.5], dtype=float32)
    """

    @folded
    def init(key, shape, dtype=dtype):
        return rnp.full(shape, value, float if dtype is None else dtype)

    return init


def uniform(scale=1e-2, dtype=None):
    """An initializer that draws evenly from 0 to ``scale``.

    Example:
      >>> w = nn.initializers.uniform(scale=0.1)(random.key(0), (20,))
      >>> bool((w >= 0).all() & (w < 0.1).all())
      True
    """

    @folded
    def init(key, shape, dtype=dtype):
        dtype = chosen(dtype)
        return lax.mul(random().uniform(key, shape, dtype), scale)

    return init


def normal(stddev=1e-2, dtype=None):
    """An initializer that draws from the normal distribution of mean 0 and standard deviation ``stddev``.

    Example:
      >>> nn.initializers.normal(stddev=0.1)(random.key(0), (20, 30)).shape
      (20, 30)
    """

    @folded
    def init(key, shape, dtype=dtype):
        dtype = chosen(dtype)
        return lax.mul(random().normal(key, shape, dtype), stddev)

    return init


def truncated_normal(stddev=1e-2, dtype=None, lower=-2.0, upper=2.0):
    """An initializer that draws from a normal distribution cut off at ``lower`` and ``upper`` times
    ``stddev``.

    Example:
      >>> nn.initializers.truncated_normal(stddev=0.1)(random.key(0), (20, 30)).shape
      (20, 30)
    """

    @folded
    def init(key, shape, dtype=dtype):
        dtype = chosen(dtype)
        return lax.mul(random().truncated_normal(key, lower, upper, shape, dtype), stddev)

    return init


# ---------------------------------------------------------------------------------- scaled by layer size
CUT_DEVIATION = 0.87962566103423978  # the standard deviation of a normal distribution cut off at -2 and 2


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


def variance_scaling(scale, mode, distribution, in_axis=-2, out_axis=-1, batch_axis=(), dtype=None):
    """An initializer of the variance ``scale / n``.

    Args:
      scale: a number.
      mode: what n is: ``"fan_in"``, ``"fan_out"``, ``"fan_avg"`` (their mean), ``"fan_geo_avg"`` (their
        geometric mean).
      distribution: ``"truncated_normal"``, ``"normal"`` or ``"uniform"``.
      in_axis, out_axis, batch_axis: which dimensions are inputs, outputs and independent weights; all
        others count for both.
      dtype: of the result.

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
        dtype = chosen(dtype)
        variance = scale / modes[mode](*fans(shape, in_axis, out_axis, batch_axis))
        if distribution == "normal":
            return lax.mul(random().normal(key, shape, dtype), math.sqrt(variance))
        if distribution == "uniform":
            return lax.mul(random().uniform(key, shape, dtype, -1), math.sqrt(3 * variance))
        return lax.mul(
            random().truncated_normal(key, -2, 2, shape, dtype), math.sqrt(variance) / CUT_DEVIATION
        )

    return init


def scaled(name, scale, mode, distribution, doc):
    """Make a function that makes initializers of one scale, mode and distribution."""

    def make(in_axis=-2, out_axis=-1, batch_axis=(), dtype=None):
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

__all__ = [
    "Initializer",
    "constant",
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
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]


def __getattr__(name):
    if name in ("orthogonal", "delta_orthogonal"):
        raise AttributeError(
            f"rabbet.nn.initializers.{name} needs a QR decomposition, which "
            f"rabbet.numpy.linalg does not have yet"
        )
    raise AttributeError(f"module 'rabbet.nn.initializers' has no attribute {name!r}")


public_module(globals())
