"""How special functions become primitives: a name, an algorithm, and the derivative by each operand.

Half types are computed in single precision. A derivative is a formula, or *by differentiation*: forward mode
through the algorithm, which goes through loops too, and is a primitive again, so that it has derivatives of
any order. Reverse mode never goes through an algorithm, so that what is not selected in one cannot spoil a
derivative.
"""

import contextlib
import functools

import numpy as np

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import dtypes, lax
from rabbet.extend.primitive import Dual, Primitive, ShapedArray, Zero, zero_tangent
from rabbet.extend.transform import typeof

SINGLE = np.dtype("float32")


class NoDerivative:
    """In the place of a slope: why there is none."""

    def __init__(self, why):
        self.why = why


BY_DIFFERENTIATION = object()


def define(name, operands, algorithm, slopes, doc, kinds="f", weak=True):
    """Make an elementwise primitive.

    Args:
      operands: the names of its operands.
      algorithm: ``(*arrays) -> array``, with arrays of one shape, in single or double precision.
      slopes: per operand ``(*arrays, out) -> `` the derivative, BY_DIFFERENTIATION or a ``NoDerivative``.
      kinds: the dtype kinds that it takes.
      weak: False: the result of Python numbers is a strong one, where JAX's is.
    """
    operands = tuple(operands.split())
    primitive = Primitive(
        name, functools.partial(type_of, name, kinds, weak=weak), kinds=("elementwise",), operands=operands,
        doc=doc,
    )  # fmt: skip
    primitive.decompose(lambda op, *args: widened(algorithm, args))
    partial = None
    if BY_DIFFERENTIATION in slopes:
        partial = partial_of(primitive, operands, algorithm, slopes, kinds)
        by = [tuple(int(i == j) for j in range(len(operands))) for i in range(len(operands))]
        slopes = [
            functools.partial(derivative, partial, by[i]) if slope is BY_DIFFERENTIATION else slope
            for i, slope in enumerate(slopes)
        ]
    primitive.rule("jvp")(lambda op, *duals: chain_rule(op, name, operands, slopes, duals))
    return primitive


def derivative(partial, orders, *args):
    """The partial derivative as a slope: it does not need the value, which comes last."""
    return partial(*args[:-1], orders=orders)


def partial_of(primitive, operands, algorithm, slopes, kinds):
    """The primitive of the partial derivatives of an algorithm, with the number of them by each operand as
    its parameter. The first one by an operand that has a formula is the formula: the algorithm need not be
    smooth there.
    """
    title = f"{primitive.name}_derivative"

    def abstract(*avals, orders):
        return type_of(title, kinds, *avals)

    partial = Primitive(
        title, abstract, kinds=("elementwise",), operands=operands,
        doc=f"partial derivatives of {primitive.name}",
    )  # fmt: skip

    @partial.decompose
    def by_forward_mode(op, *args):
        function, orders = algorithm, list(op.params["orders"])
        for i, slope in enumerate(slopes):
            if orders[i] and slope is not BY_DIFFERENTIATION:
                function, orders[i] = formula(primitive, slope), orders[i] - 1
                break
        for i, order in enumerate(orders):
            for _ in range(order):
                function = differentiated(function, i)
        return widened(function, args)

    @partial.rule("jvp")
    def jvp_partial(op, *duals):
        orders = op.params["orders"]
        more = [tuple(n + (i == j) for j, n in enumerate(orders)) for i in range(len(orders))]
        rows = [
            slope if isinstance(slope, NoDerivative) else functools.partial(derivative, partial, more[i])
            for i, slope in enumerate(slopes)
        ]
        return chain_rule(op, title, operands, rows, duals)

    return partial


def formula(primitive, slope):
    """A slope as a function of the operands."""
    return lambda *args: slope(*args, primitive(*args))


def differentiated(function, i):
    """The derivative of a function by its argument number ``i``."""

    def slope(*args):
        def of_one(x):
            return function(*args[:i], x, *args[i + 1 :])

        return rb.jvp(of_one, (args[i],), (lax.full_like(args[i], 1),))[1]

    return slope


def chain_rule(op, name, operands, slopes, duals):
    """The value, and the sum of the tangents times the slopes."""
    primals = [x.primal for x in duals]
    out = op(*primals)
    tangent = None
    for operand, slope, x in zip(operands, slopes, duals, strict=True):
        if type(x.tangent) is Zero:
            continue
        if isinstance(slope, NoDerivative):
            raise TypeError(
                f"{name} has no derivative by {operand}: {slope.why}; take it as a constant (stop_gradient)"
            )
        term = lax.mul(x.tangent, widened(slope, [*primals, out]))
        tangent = term if tangent is None else lax.add(tangent, term)
    return Dual(out, zero_tangent(typeof(out)) if tangent is None else tangent)


def widened(function, args):
    """``function`` of the operands as arrays of one shape, in single precision at least; the result in their
    dtype.
    """
    avals = [typeof(x) for x in args]
    dtype = next((a.dtype for a in avals if not a.weak_type), avals[0].dtype)
    wide = SINGLE if dtypes.kind(dtype) == "f" and dtypes.itemsize_bits(dtype) < 32 else dtype
    shape = max([a.shape for a in avals], key=len)
    full = [rnp.broadcast_to(lax.convert_element_type(x, wide), shape) for x in args]
    # With disable_jit loops ask for values, which there are none of inside a primitive.
    with rb.config.override(disable_jit=False) if rb.config.disable_jit else contextlib.nullcontext():
        return lax.convert_element_type(function(*full), dtype)


def type_of(name, kinds, *avals, weak=True):
    """The type of an elementwise result: the one shape, scalars aside; the one dtype."""
    dtype = avals[0].dtype
    shapes = {a.shape for a in avals if a.shape}
    if any(a.dtype != dtype for a in avals) or dtypes.kind(dtype) not in kinds or len(shapes) > 1:
        words = "floating" if kinds == "f" else "complex" if kinds == "c" else "floating or complex"
        shown = ", ".join([a.str_short() for a in avals])
        raise TypeError(f"{name} takes {words} arrays of one dtype and shape, got {shown}")
    return ShapedArray(shapes.pop() if shapes else (), dtype, weak and all(a.weak_type for a in avals))


__all__ = ["BY_DIFFERENTIATION", "NoDerivative", "define", "widened"]
