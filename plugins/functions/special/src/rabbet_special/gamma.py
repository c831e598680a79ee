"""The gamma function's logarithm and its derivatives, and Hurwitz's zeta function.

CHLO has an operation for each, which XLA expands itself, in single precision for the half types. The
derivatives are in NIST DLMF: 5.2 and 5.15 for the gamma family, 25.11.17 for Hurwitz's zeta.
"""

import numpy as np
from rabbet import dtypes, lax
from rabbet.lax import add, mul, neg

from rabbet_special import gamma_parts
from rabbet_special.chlo_primitives import binary, by_second, unary

# ----------------------------------------------------------------------------------------- gamma functions
lgamma = unary(
    "lgamma", None, derivative=lambda x, out: digamma(x),
    doc="""log |gamma(x)|; infinite at 0, -1, -2, ...

    >>> lax.lgamma(rnp.array([1.0, 5.0]))
    Array([0.       , 3.1780539], dtype=float32)
    """,
)  # fmt: skip


def simple_lgamma(op, x):
    """XLA's version."""
    return op.emit(f"chlo.lgamma {x} : {op.out.mlir} -> {op.out.mlir}")


@lgamma.rule("lower")
def lower_lgamma(op, x):
    """In double precision XLA's version, mended where it loses digits; halves are computed in single
    precision.
    """
    width = dtypes.itemsize_bits(op.out.dtype)
    if width < 32:

        def in_single(x):
            wide = lax.convert_element_type(x, np.dtype("float32"))
            return [lax.convert_element_type(gamma_parts.log_gamma(wide), op.out.dtype)]

        return op.write(in_single, [op.out.strong()], [x])[0]
    operands = [x] if width == 32 else [x, simple_lgamma(op, x)]
    avals = [op.out.strong()] * len(operands)
    return op.write(lambda *args: [gamma_parts.log_gamma(*args)], avals, operands)[0]


digamma = unary(
    "digamma", None, derivative=lambda x, out: polygamma(1.0, x),
    doc="""the derivative of log gamma; -inf at 0, NaN at -1, -2, ...

    >>> lax.digamma(rnp.array([1.0, 2.0]))
    Array([-0.5772154 ,  0.42278463], dtype=float32)
    """,
)  # fmt: skip


@digamma.rule("lower")
def lower_digamma(op, x):
    """With -inf at 0, where XLA's versions differ."""
    aval = op.out
    scalar = aval.update(shape=())
    nought, pole = (op.broadcast_operand(op.constant(v, scalar), scalar, aval.shape) for v in (0, -np.inf))
    flag = aval.update(dtype=np.dtype(bool), weak_type=False)
    value = op.emit(f"chlo.digamma {x} : {aval.mlir} -> {aval.mlir}")
    at_pole = op.emit(f"stablehlo.compare EQ, {x}, {nought} : ({aval.mlir}, {aval.mlir}) -> {flag.mlir}")
    return op.emit(f"stablehlo.select {at_pole}, {pole}, {value} : {flag.mlir}, {aval.mlir}")


polygamma = binary(
    "polygamma", None,
    """the derivative number m of digamma, for whole m

    At 0, -1, -2, ... it is infinite for odd m and NaN for even m.

    >>> lax.polygamma(1.0, rnp.array([1.0]))
    Array([1.644934], dtype=float32)
    """,
    ("m", "x"),
)  # fmt: skip
zeta = binary(
    "zeta", "chlo.zeta",
    """Hurwitz's zeta function, the sum of (q + k) ** -x over k = 0, 1, ...

    >>> lax.zeta(2.0, rnp.array([1.0, 2.0]))
    Array([1.644934  , 0.64493406], dtype=float32)
    """,
    ("x", "q"),
)  # fmt: skip


@polygamma.rule("lower")
def lower_polygamma(op, m, x):
    """XLA's version, for x > 0 that is not far out; the rest is only computed where there is some."""
    a, b = op.in_avals
    m, x = op.broadcast_operand(m, a, op.out.shape), op.broadcast_operand(x, b, op.out.shape)
    value = op.emit(f"chlo.polygamma {m}, {x} : {op.out.mlir}, {op.out.mlir} -> {op.out.mlir}")
    return op.write(mirrored, [op.out.strong()] * 3, [m, x, value])[0]


def mirrored(m, x, value):
    below = lax.bitwise_and(lax.le(x, 0.0), lax.gt(m, 0.0))
    bits = dtypes.itemsize_bits(x.dtype)
    far = lax.bitwise_and(lax.gt(x, 1e5 if bits == 64 else 1e3), lax.gt(m, 0.0))
    if bits < 32:  # computed in single precision, which a series here would not be
        far = lax.full_like(far, False)
    anywhere = lax.reduce_or(lax.bitwise_or(below, far), axes=tuple(range(below.ndim)))

    def elsewhere(m, x, value):
        return lax.select(below, polygamma_below(m, x), lax.select(far, polygamma_far(m, x), value))

    return [lax.cond(anywhere, elsewhere, lambda m, x, value: value, m, x, value)]


def polygamma_far(m, x):
    """The first terms of DLMF 5.15.9, by powers of ``x`` no higher than that of the result: XLA's version
    divides by one more, which is too large in single precision for m = 2 from 1e13 on.
    """
    sign = lax.sub(mul(lax.rem(m, 2.0), 2.0), 1.0)  # (-1) ** (m + 1)
    factorial = lax.div(lax.exp(lgamma(add(m, 1.0))), m)  # (m - 1)!
    first = lax.div(m, x)
    series = add(add(1.0, mul(first, 0.5)), mul(mul(first, lax.div(add(m, 1.0), x)), 1 / 12))
    power = lax.pow(x, neg(m))
    out = mul(mul(sign, mul(factorial, power)), series)
    return lax.select(lax.eq(power, 0.0), lax.full_like(x, 0), out)  # the factorial may be infinite


def polygamma_below(m, x):
    """For ``x <= 0``: the sum of ``(x + k) ** -(m + 1)`` over all whole ``k``, which is periodic, without
    those below 0 (DLMF 5.15.1). Both distances to the next whole numbers are exact.
    """
    sign = lax.sub(1.0, mul(lax.rem(m, 2.0), 2.0))  # (-1) ** m
    power = add(m, 1.0)
    left, right = lax.sub(x, lax.floor(x)), lax.sub(lax.ceil(x), x)
    other = lax.sub(zeta(power, right), zeta(power, lax.sub(1.0, x)))
    total = lax.sub(zeta(power, left), mul(sign, other))
    pole = lax.select(lax.gt(sign, 0.0), lax.full_like(x, np.nan), lax.full_like(x, np.inf))
    out = mul(mul(neg(sign), lax.exp(lgamma(power))), total)
    return lax.select(lax.eq(left, 0.0), pole, out)


@polygamma.rule("jvp")
def jvp_polygamma(op, m, x):
    return by_second(
        op, m, x, lambda m, x: op(add(m, 1.0), x),
        "there is no derivative by the order m; take it as a constant (lax.stop_gradient)",
    )  # fmt: skip


@zeta.rule("jvp")
def jvp_zeta(op, x, q):
    return by_second(
        op, x, q, lambda x, q: mul(neg(x), op(add(x, 1.0), q)),
        "the derivative by the exponent x is not known in closed form and not offered; take it as a "
        "constant (lax.stop_gradient)",
    )  # fmt: skip


__all__ = ["digamma", "lgamma", "polygamma", "zeta"]
