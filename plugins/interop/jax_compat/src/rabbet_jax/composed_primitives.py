"""Primitives that JAX has and Rabbet writes as several operations: each can be bound, traced and transformed.

Programs that are traced here have what they are made of: none of these is met in a jaxpr unless it was bound.
"""

import functools
import importlib

import rabbet as rb
from rabbet.extend.passes import evaluate
from rabbet.extend.transform import typeof

from rabbet_jax.composed_sparse import SPARSE
from rabbet_jax.primitives import Primitive

BETWEEN_HOSTS = ("host_local_array_to_global_array", "global_array_to_host_local_array")


def _one_minus_square(x):
    return (1 + x) * (1 - x)


def _polynomial(x, *coefficients):
    """The constant first."""
    out = coefficients[-1]
    for each in reversed(coefficients[:-1]):
        out = out * x + each
    return out


def _in_total_order(compare):
    """``eq``, ``le`` or ``lt`` of numbers in the order -nan, -inf, ..., -0, 0, ..., inf, nan."""

    def ordered(x, y):
        dtype = x.dtype
        if not rb.numpy.issubdtype(dtype, rb.numpy.floating):
            return compare(x, y)
        bits = f"int{dtype.itemsize * 8}"
        top = rb.numpy.iinfo(bits).max

        def key(v):
            whole = rb.lax.bitcast_convert_type(v, bits)
            return rb.numpy.where(whole < 0, whole ^ top, whole)

        return compare(key(x), key(y))

    return ordered


def _equal_in_total_order(x, y):
    if rb.numpy.issubdtype(x.dtype, rb.numpy.complexfloating):
        return rb.lax.eq(x, y)  # they have no such order
    return _in_total_order(rb.lax.eq)(x, y)


def _split(x, *, sizes, axis):
    return rb.lax.split(x, sizes, axis)


def _stack(*xs, axis):
    return rb.numpy.stack(xs, axis)


def _unstack(x, *, axis):
    return list(rb.numpy.unstack(x, axis=axis))


def _tile(x, *, reps):
    return rb.numpy.tile(x, reps)


def _round(x, *, rounding_method):
    return rb.lax.round(x, rounding_method)


def _log2(x, *, accuracy=None):
    return rb.numpy.log2(x)


def _approx_top_k(
    x, *, k, reduction_dimension, recall_target, is_max_k, reduction_input_size_override, aggregate_to_topk
):
    how = rb.lax.approx_max_k if is_max_k else rb.lax.approx_min_k
    return how(
        x, k, reduction_dimension, recall_target, reduction_input_size_override, aggregate_to_topk
    )  # fmt: skip


def _device_put(*xs, devices, srcs=(), copy_semantics=()):
    return [x if to is None else rb.device_put(x, to) for x, to in zip(xs, devices, strict=True)]


def _bits(keys, *, bit_width, shape):
    dtype = f"uint{bit_width}"
    draw = lambda key: rb.random.bits(key, shape, dtype)
    return functools.reduce(lambda f, _: rb.vmap(f), range(keys.ndim), draw)(keys)


def _seed(seeds, *, impl):
    name = getattr(impl, "name", impl)
    make = lambda seed: rb.random.key(seed, impl=name)
    return functools.reduce(lambda f, _: rb.vmap(f), range(seeds.ndim), make)(seeds)


def _key_split(keys, *, shape):
    split = lambda key: rb.random.split(key, shape)
    return functools.reduce(lambda f, _: rb.vmap(f), range(keys.ndim), split)(keys)


def _fold_in(keys, data):
    keys, data = rb.numpy.broadcast_arrays(keys, data)
    folded = lambda key, number: rb.random.fold_in(key, number)
    return functools.reduce(lambda f, _: rb.vmap(f), range(keys.ndim), folded)(keys, data)


def _gamma(key, a, *, log_space=False):
    draw = rb.random.loggamma if log_space else rb.random.gamma
    if key.ndim:
        return rb.vmap(lambda k, a: _gamma(k, a, log_space=log_space))(key, a)
    return draw(key, a, a.shape, a.dtype)


def _of_lax(name):
    """A function of ``rabbet.lax`` that is in a package which need not be installed."""
    return lambda *args, **params: getattr(rb.lax, name)(*args, **params)


def _between_hosts(name):
    """A function of ``multihost_utils``, likewise; it takes arrays, not what stands for them in a program."""

    def moved(arr, *, global_mesh, pspec):
        own = importlib.import_module("rabbet.experimental.multihost_utils")
        return getattr(own, name)(arr, global_mesh, pspec)

    return moved


# By the name without `_p`: the function, and whether it has several results.
COMPOSED = {
    "one_minus_square": (_one_minus_square, False),
    "polynomial": (_polynomial, False),
    "eq_to": (_equal_in_total_order, False),
    "le_to": (_in_total_order(rb.lax.le), False),
    "lt_to": (_in_total_order(rb.lax.lt), False),
    "split": (_split, True),
    "stack": (_stack, False),
    "unstack": (_unstack, True),
    "tile": (_tile, False),
    "round": (_round, False),
    "log2": (_log2, False),
    "copy": (lambda x: rb.numpy.array(x, copy=True), False),
    "stage": (lambda *xs: xs[0], False),
    "approx_top_k": (_approx_top_k, True),
    "device_put": (_device_put, True),
    "add_any": (lambda x, y: x + y, False),
    "empty2": (lambda *, dtype, memory_space=None: rb.numpy.zeros((), dtype), False),
    "random_bits": (_bits, False),
    "random_seed": (_seed, False),
    "random_split": (_key_split, False),
    "random_fold_in": (_fold_in, False),
    "random_gamma": (_gamma, False),
    **SPARSE,
}
# What takes or gives others than arrays, or asks for the axes around it: binding it calls the function.
CALLED = {
    **{name: _of_lax(name) for name in ("create_token", "after_all", "ragged_all_to_all")},
    **{name: _between_hosts(name) for name in BETWEEN_HOSTS},
}
OTHERWISE = {"add_jaxvals": "add_any", "call": "eval_jaxpr", "closed_call": "eval_jaxpr"}


def run_program(*args, call_jaxpr, **params):
    """The results of the program ``call_jaxpr``, closed or without arrays that it captures."""
    program = getattr(call_jaxpr, "jaxpr", call_jaxpr)
    return evaluate(program, list(args), list(getattr(call_jaxpr, "consts", ())))


def call_primitive(name):
    """A primitive that runs the program ``call_jaxpr`` on its operands."""
    return _primitive(name, run_program, True)


def composed(name):
    """The primitive of a name of ``COMPOSED`` or ``CALLED``.

    Raises:
      KeyError: for any other.
    """
    return _composed(OTHERWISE.get(name, name))


@functools.cache
def _composed(name):
    if name in CALLED:
        return Called(name, CALLED[name])
    return call_primitive(name) if name == "eval_jaxpr" else _primitive(name, *COMPOSED[name])


class Called(Primitive):
    """A primitive by name: no program has it, but what ``fun`` is made of."""

    def __init__(self, name, fun):
        super().__init__(name)
        self.fun = fun

    def __call__(self, *args, **params):
        return self.fun(*args, **params)

    bind = __call__


def _primitive(name, fun, several):
    made = Primitive(name)
    made.multiple_results = several

    def types(*avals, **params):
        out = rb.eval_shape(lambda *xs: fun(*xs, **params), *avals)
        return [typeof(o) for o in out] if several else typeof(out)

    made.def_abstract_eval(types)
    made.decompose(lambda op, *args: fun(*args, **op.params))
    return made
