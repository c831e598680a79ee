"""What decompositions of special functions are built of: precision, polynomials, loops."""

from typing import Any

import numpy as np
from rabbet import dtypes, lax
from rabbet.extend.functions import is_python_scalar
from rabbet.extend.passes import stage
from rabbet.extend.primitive import elementwise_aval, full_of_type, operand_avals, while_
from rabbet.extend.rules import spread, to_dtype
from rabbet.extend.transform import typeof
from rabbet.lax import add, mul, sub

SINGLE = np.dtype("float32")


def accept_floats(name, *avals):
    """Refuse avals that are not of floats."""
    for aval in avals:
        if dtypes.kind(aval.dtype) != "f":
            raise TypeError(f"{name} takes floating arrays, got {aval.str_short()}")


def elementwise_type(name, *avals):
    """The type of an elementwise result of floats."""
    accept_floats(name, *avals)
    return elementwise_aval(name, *avals)


def typed(op, *args):
    """The operands of an elementwise operation, bare numbers in the dtype of the arrays beside them."""
    if not any(is_python_scalar(x) for x in args):
        return args
    avals = operand_avals(op, args, typeof)
    return [full_of_type(a, x) if is_python_scalar(x) else x for x, a in zip(args, avals, strict=True)]


def in_single(fn, op, *args):
    """``fn(*args)`` with arrays of one shape and of single precision at least: halves are computed in it."""
    operands = typed(op, *args)
    avals = [typeof(x) for x in operands]
    dtype = avals[0].dtype
    full = max([a.shape for a in avals], key=len)
    wide = [spread(to_dtype(x, at_least_single(dtype)), full) for x in operands]
    return to_dtype(fn(*wide), dtype)


def at_least_single(dtype):
    """``dtype``, or float32 if that is narrower."""
    return SINGLE if dtypes.itemsize_bits(dtype) < 32 else dtype


def epsilon(x):
    """The distance from 1 to the next float of the dtype of ``x``."""
    return float(dtypes.finfo(typeof(x).dtype).eps)


def largest(x):
    """The largest float of the dtype of ``x``."""
    return float(dtypes.finfo(typeof(x).dtype).max)


def is_double(x):
    """Whether ``x`` has double precision."""
    return dtypes.itemsize_bits(typeof(x).dtype) > 32


def polynomial(x, coefficients):
    """The polynomial with these coefficients, the constant one first, by Horner's scheme."""
    total = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = mul(total, x)
        if c != 0:
            total = add(total, c)
    return total


def chebyshev(x, coefficients):
    """The sum of ``c[k] T_k(x)`` for ``-1 <= x <= 1``, by Clenshaw's recurrence.

    Coefficients that do not count in the precision of ``x`` are left out.
    """
    least = 0.05 * epsilon(x) * abs(coefficients[0])
    kept = [i for i, c in enumerate(coefficients) if abs(c) > least]
    double = mul(x, 2.0)
    one: Any = coefficients[kept[-1]]
    two: Any = 0.0
    for c in coefficients[kept[-1] - 1 : 0 : -1]:
        one, two = add(sub(mul(double, one), two), c), one
    return add(sub(mul(x, one), two), coefficients[0])


def repeat(count, step, state, held):
    """A loop of ``count`` steps for use in decompositions, a multiple of four, which are written out.

    Its condition sees a counter alone, so that every interpreter can go through it.

    Args:
      step: ``(n, held, *state) -> state`` for ``n`` from ``count`` down to 1, a number like the state's.
    """
    n = len(held)
    first = typeof(state[0]).strong()
    counter = full_of_type(first.update(shape=()), count)
    avals = [typeof(counter), *[typeof(x).strong() for x in state]]

    def four(*flat):
        held, i, state = flat[:n], flat[n], flat[n + 1 :]
        for _ in range(4):
            state = step(i, held, *state)
            i = sub(i, 1.0)
        return [i, *state]

    test = stage(lambda i, *_: [lax.gt(i, 0.0)], avals, "more").jaxpr
    body = stage(four, [*[typeof(x) for x in held], *avals], "step").jaxpr
    return while_(*held, counter, *state, cond_jaxpr=test, body_jaxpr=body, cond_consts=0, body_consts=n)[1:]


def repeat_while(more, step, state, held):
    """A loop for use in decompositions: ``state`` is a tuple of arrays, ``held`` another that stays.

    Args:
      more: ``(*state) -> `` an array of booleans: where to go on. The loop ends when there is none.
      step: ``(held, *state) -> state``.

    Returns:
      the last state.
    """
    n = len(held)
    avals = [typeof(x).strong() for x in state]

    def any_left(*flat):
        left = more(*flat)
        return [lax.reduce_or(left, axes=tuple(range(typeof(left).ndim)))]

    test = stage(any_left, avals, "more").jaxpr
    body = stage(
        lambda *flat: list(step(flat[:n], *flat[n:])), [*[typeof(x) for x in held], *avals], "step"
    ).jaxpr
    return while_(*held, *state, cond_jaxpr=test, body_jaxpr=body, cond_consts=0, body_consts=n)


def full_like(x, value):
    """An array like ``x``, strongly typed, filled with a number."""
    return lax.broadcast_in_dim(
        full_of_type(typeof(x).strong().update(shape=()), value),
        shape=typeof(x).shape,
        broadcast_dimensions=(),
    )
