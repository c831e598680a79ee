"""Layers as pairs of functions.

A layer is ``(init, apply)``: ``init(key, input_shape)`` returns the output's shape and parameters,
``apply(params, inputs, **options)`` the outputs. New programs use flax, equinox or haiku.
"""

import functools

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax, random
from rabbet.nn import (
    elu,
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    selu,
    sigmoid,
    softmax,
    softplus,
    standardize,
)
from rabbet.nn.initializers import glorot_normal, normal, ones, zeros

logsoftmax = log_softmax
glorot, randn = glorot_normal, normal
IMAGES = ("NHWC", "HWIO", "NHWC")


def _shape_of(function, *shapes):
    """The shape of a function's result on arrays of such shapes, of which sizes may be -1: unknown."""
    known = [tuple([1 if size == -1 else size for size in shape]) for shape in shapes]
    return rb.eval_shape(function, *[rb.ShapeDtypeStruct(shape, "float32") for shape in known]).shape


def _with_batch(shape, input_shape, dimension=0):
    """A size that is unknown in the input, -1, is so in the output."""
    if input_shape[dimension] != -1:
        return shape
    return (*shape[:dimension], -1, *shape[dimension + 1 :])


# Layers with parameters -----------------------------------------------------------------------------
def Dense(out_dim, W_init=None, b_init=None):
    """``x @ W + b``."""
    W_init, b_init = W_init or glorot_normal(), b_init or normal()

    def init(rng, input_shape):
        first, second = random.split(rng)
        W = W_init(first, (input_shape[-1], out_dim))
        return (*input_shape[:-1], out_dim), (W, b_init(second, (out_dim,)))

    def apply(params, inputs, **kwargs):
        W, b = params
        return rnp.dot(inputs, W) + b

    return init, apply


def _convolution(convolve, dimension_numbers, out_chan, filter_shape, strides, padding, W_init, b_init):
    lhs, rhs, out = dimension_numbers
    strides = strides or (1,) * len(filter_shape)
    W_init = W_init or glorot_normal(rhs.index("I"), rhs.index("O"))
    b_init = b_init or normal(1e-6)

    def run(x, W):
        return convolve(x, W, strides, padding, dimension_numbers=dimension_numbers)

    def init(rng, input_shape):
        sizes = iter(filter_shape)
        fixed = {"O": out_chan, "I": input_shape[lhs.index("C")]}
        kernel_shape = tuple([fixed[c] if c in fixed else next(sizes) for c in rhs])
        bias_shape = tuple([out_chan if c == "C" else 1 for c in out])
        first, second = random.split(rng)
        output_shape = _with_batch(_shape_of(run, input_shape, kernel_shape), input_shape, lhs.index("N"))
        return output_shape, (W_init(first, kernel_shape), b_init(second, bias_shape))

    def apply(params, inputs, **kwargs):
        W, b = params
        return run(inputs, W) + b

    return init, apply


def GeneralConv(
    dimension_numbers, out_chan, filter_shape, strides=None, padding="VALID", W_init=None, b_init=None
):
    """A convolution whose ``dimension_numbers`` say what the dimensions of input, filter and output are."""
    return _convolution(
        lax.conv_general_dilated, dimension_numbers, out_chan, filter_shape, strides, padding, W_init, b_init
    )


def GeneralConvTranspose(
    dimension_numbers, out_chan, filter_shape, strides=None, padding="VALID", W_init=None, b_init=None
):
    """A transposed convolution, see ``GeneralConv``."""
    return _convolution(
        lax.conv_transpose, dimension_numbers, out_chan, filter_shape, strides, padding, W_init, b_init
    )


Conv = functools.partial(GeneralConv, IMAGES)
ConvTranspose = functools.partial(GeneralConvTranspose, IMAGES)
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))


def BatchNorm(axis=(0, 1, 2), epsilon=1e-5, center=True, scale=True, beta_init=zeros, gamma_init=ones):
    """Values of mean 0 and variance 1 along ``axis``, then scaled and moved."""
    axis = (axis,) if isinstance(axis, int) else tuple(axis)

    def init(rng, input_shape):
        shape = tuple([size for i, size in enumerate(input_shape) if i not in axis])
        first, second = random.split(rng)
        beta = beta_init(first, shape) if center else ()
        return input_shape, (beta, gamma_init(second, shape) if scale else ())

    def apply(params, x, **kwargs):
        beta, gamma = params
        spread = tuple([None if i in axis else slice(None) for i in range(rnp.ndim(x))])
        out = standardize(x, axis, epsilon=epsilon)
        out = out * gamma[spread] if scale else out
        return out + beta[spread] if center else out

    return init, apply


# Layers without parameters ----------------------------------------------------------------------------
def _plain(apply, output_shape=lambda shape: shape):
    return (lambda rng, input_shape: (output_shape(input_shape), ())), apply


def elementwise(fun, **fun_kwargs):
    """A layer of a function of arrays that keeps the shape."""
    return _plain(lambda params, inputs, **kwargs: fun(inputs, **fun_kwargs))


Tanh = elementwise(rnp.tanh)
Relu = elementwise(relu)
Exp = elementwise(rnp.exp)
LogSoftmax = elementwise(log_softmax, axis=-1)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Sigmoid = elementwise(sigmoid)
Elu = elementwise(elu)
LeakyRelu = elementwise(leaky_relu)
Selu = elementwise(selu)
Gelu = elementwise(gelu)


def _pooling(reducer, start, finish=None):
    def layer(window_shape, strides=None, padding="VALID", spec=None):
        spec = spec or "N" + "HWD"[: len(window_shape)] + "C"
        strides = strides or (1,) * len(window_shape)

        def everywhere(sizes):
            rest = iter(sizes)
            return tuple([1 if c in "NC" else next(rest) for c in spec])

        window, steps = everywhere(window_shape), everywhere(strides)

        def run(x):
            out = lax.reduce_window(x, start, reducer, window, steps, padding)
            return finish(out, x, window, steps, padding) if finish else out

        return _plain(
            lambda params, inputs, **kwargs: run(inputs),
            lambda shape: _with_batch(_shape_of(run, shape), shape, spec.index("N")),
        )

    return layer


def _average(total, x, window, steps, padding):
    """The mean of what lies within the array."""
    return total / lax.reduce_window(rnp.ones_like(x), 0.0, lax.add, window, steps, padding)


MaxPool = _pooling(lax.max, -rnp.inf)
SumPool = _pooling(lax.add, 0.0)
AvgPool = _pooling(lax.add, 0.0, _average)


def _flat_shape(shape):
    size = 1
    for dimension in shape[1:]:
        size *= dimension
    return shape[0], size


Flatten = _plain(lambda params, inputs, **kwargs: rnp.reshape(inputs, (inputs.shape[0], -1)), _flat_shape)
Identity = _plain(lambda params, inputs, **kwargs: inputs)


def FanOut(num):
    """The input, ``num`` times."""
    return _plain(lambda params, inputs, **kwargs: [inputs] * num, lambda shape: [shape] * num)


FanInSum = _plain(lambda params, inputs, **kwargs: sum(inputs), lambda shapes: shapes[0])


def FanInConcat(axis=-1):
    """The inputs, one behind the other along ``axis``."""

    def output_shape(shapes):
        at = axis % len(shapes[0])
        return (*shapes[0][:at], sum([shape[at] for shape in shapes]), *shapes[0][at + 1 :])

    return _plain(lambda params, inputs, **kwargs: rnp.concatenate(inputs, axis), output_shape)


def Dropout(rate, mode="train"):
    """Keeps a share ``rate`` of the values, scaled, where ``mode`` is "train"; ``apply`` takes ``rng=``."""

    def apply(params, inputs, **kwargs):
        rng = kwargs.get("rng")
        if rng is None:
            raise ValueError("Dropout: apply needs a key, as in apply(params, inputs, rng=key)")
        if mode != "train":
            return inputs
        return rnp.where(random.bernoulli(rng, rate, inputs.shape), inputs / rate, 0)

    return _plain(apply)


# Layers of layers ---------------------------------------------------------------------------------------
def _keys(rng, count):
    return random.split(rng, count) if rng is not None else (None,) * count


def _one_each(name, count, **given):
    """Refuse another number of shapes, parameters or inputs than there are layers."""
    for what, them in given.items():
        if len(them) != count:
            raise ValueError(f"stax.{name} of {count} layers got {len(them)} {what}")


def serial(*layers):
    """One layer after the other."""
    inits, applies = zip(*layers) if layers else ((), ())

    def init(rng, input_shape):
        params = []
        for layer_init in inits:
            rng, key = random.split(rng)
            input_shape, of_layer = layer_init(key, input_shape)
            params.append(of_layer)
        return input_shape, params

    def apply(params, inputs, **kwargs):
        _one_each("serial", len(layers), params=params)
        for layer, of_layer, key in zip(applies, params, _keys(kwargs.pop("rng", None), len(layers))):
            inputs = layer(of_layer, inputs, rng=key, **kwargs)
        return inputs

    return init, apply


def parallel(*layers):
    """Each layer on an input of its own, as behind ``FanOut``."""
    inits, applies = zip(*layers) if layers else ((), ())

    def init(rng, input_shape):
        _one_each("parallel", len(layers), shapes=input_shape)
        made = [one(key, shape) for one, key, shape in zip(inits, _keys(rng, len(layers)), input_shape)]
        return [shape for shape, _ in made], tuple([params for _, params in made])

    def apply(params, inputs, **kwargs):
        _one_each("parallel", len(layers), params=params, inputs=inputs)
        keys = _keys(kwargs.pop("rng", None), len(layers))
        return [f(p, x, rng=key, **kwargs) for f, p, x, key in zip(applies, params, inputs, keys)]

    return init, apply


def shape_dependent(make_layer):
    """A layer that ``make_layer(input_shape)`` makes."""
    return (
        lambda rng, input_shape: make_layer(input_shape)[0](rng, input_shape),
        lambda params, inputs, **kwargs: make_layer(inputs.shape)[1](params, inputs, **kwargs),
    )
