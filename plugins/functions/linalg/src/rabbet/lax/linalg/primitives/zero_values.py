"""Vectors of eigenvalues and singular values that are exactly 0, in derivatives.

A function such as ``v f(w) v^H`` or ``u f(s) v^H`` with ``f`` 0 at 0 has no cotangent for these vectors, as
if it left them out; but if ``f`` has a slope there, then the function has a derivative that the vectors would
have to know. So they are turned among themselves, such that none of them is an axis, at which a function may
look by itself, and then the cotangents of the values, which know of a slope, say whether something is lost.
"""

import numpy as np

from rabbet import dtypes, lax
from rabbet.extend.primitive import Batched, Dual, Primitive, Zero, full_of_type, instantiate
from rabbet.extend.rules import at_front, real_dtype, to_dtype
from rabbet.extend.transform import typeof
from rabbet.lax.linalg import matrices
from rabbet.lax.linalg.primitives import factor_parts

ROUNDING = 64  # how many units of rounding of the largest cotangent equal ones may be apart


def several(zero, least, sizes):
    """Where rows of ``zero``, booleans, have so many True or more, repeated in arrays of shape ``sizes``."""
    aval = typeof(zero)
    count = lax.reduce_sum(to_dtype(zero, np.dtype("int32")), axes=(aval.ndim - 1,))
    return matrices.beside(lax.ge(count, np.int32(least)), sizes, *range(aval.ndim - 1, len(sizes)))


def uneven(aval):
    """Vectors of numbers none of which is 0, all different; complex ones have different phases, too."""
    parts = real_dtype(aval.dtype)
    places = lax.broadcasted_iota(parts, shape=aval.shape, dimension=aval.ndim - 1)
    size = lax.add(lax.sin(lax.add(lax.mul(places, 2.0), 1.0)), 1.5)
    if aval.kind != "c":
        return size
    turn = lax.add(lax.mul(lax.mul(places, places), 0.7), 0.4)
    return lax.complex(lax.mul(size, lax.cos(turn)), lax.mul(size, lax.sin(turn)))


def shares(v, x):
    """``v^H x`` for each matrix and vector."""
    return lax.reduce_sum(factor_parts.scaled_rows(x, matrices.conjugate(v)), axes=(typeof(v).ndim - 2,))


def turned(v, values):
    """``v``, matrices with orthonormal columns, with the columns of values of 0 reflected within all that is
    orthogonal to the others, if that has two dimensions or more.
    """
    aval, zero = typeof(v).strong(), lax.eq(values, 0.0)
    m, k = aval.shape[-2:]
    nothing, where = full_of_type(aval, 0), factor_parts.as_row(zero, aval.shape)
    others = lax.select_n(where, v, nothing)
    x = uneven(aval.update(shape=aval.shape[:-1]))
    along = factor_parts.scaled_columns(others, shares(others, x))
    x = lax.sub(x, lax.reduce_sum(along, axes=(aval.ndim - 1,)))
    size = lax.reduce_sum(lax.square(lax.abs(x)), axes=(aval.ndim - 2,))
    some = several(zero, 1 if m > k else 2, typeof(size).shape)
    size = lax.select_n(some, full_of_type(typeof(size), np.inf), size)
    twice = to_dtype(lax.div(2.0, size), aval.dtype)
    twice = matrices.beside(twice, typeof(values).shape, aval.ndim - 2)
    row = lax.mul(matrices.conjugate(shares(v, x)), twice)
    back = factor_parts.scaled_columns(factor_parts.as_column(x, aval.shape), row)
    return lax.sub(v, lax.select_n(where, nothing, back))


def _as_they_are(op, *operands):
    return list(operands[:-1])


def _batch(op, *operands):
    return [Batched(x, 0) for x in op(*at_front(*operands))]


def _jvp(op, *operands):
    """Linear in the changes; the values do not move what is said of them."""
    *changes, values = operands
    primals = op(*[x.primal for x in operands])
    if all(type(x.tangent) is Zero for x in changes):
        return [Dual(p, Zero(typeof(p))) for p in primals]
    tangents = op(*[instantiate(x.tangent) for x in changes], values.primal)
    return [Dual(p, t) for p, t in zip(primals, tangents, strict=True)]


def telling(name, operands, doc):
    """A primitive that returns changes as they are; its rule ``transpose`` is for the caller to write."""
    primitive = Primitive(
        name, lambda *avals: tuple([x.strong() for x in avals[:-1]]), multiple_results=True,
        operands=operands, doc=doc,
    )  # fmt: skip
    primitive.decompose(_as_they_are)
    primitive.rule("batch")(_batch)
    primitive.rule("jvp")(_jvp)
    return primitive


told_of_zeros = telling(
    "told_of_zeros", ("dv", "dw", "w"),
    "the changes of eigenvectors and eigenvalues; their cotangents are NaN where they do not tell all",
)  # fmt: skip
told_of_zero_singular_values = telling(
    "told_of_zero_singular_values", ("du", "ds", "dvh", "s"),
    "the changes of singular values and vectors; their cotangents are NaN where they do not tell all",
)  # fmt: skip


@told_of_zeros.rule("transpose")
def transpose_told_of_zeros(op, cts, dv, dw, w):
    """Of several eigenvalues of 0, the cotangents differ if one is not 0 and the function has a slope there;
    a function that is smooth there and leaves their vectors out has equal ones.
    """
    ct_v, ct_w = cts
    if type(ct_v) is Zero or type(ct_w) is Zero:
        return ct_v, ct_w, None
    aval = typeof(ct_w)
    zero = lax.eq(w, 0.0)
    one, none = lax.full_like(ct_w, np.inf), lax.full_like(ct_w, -np.inf)
    last = (aval.ndim - 1,)
    highest = lax.reduce_max(lax.select(zero, ct_w, none), axes=last)
    lowest = lax.reduce_min(lax.select(zero, ct_w, one), axes=last)
    scale = lax.add(
        lax.reduce_max(lax.abs(ct_w), axes=last),
        lax.reduce_max(lax.abs(ct_v), axes=(aval.ndim - 1, aval.ndim)),
    )
    room = lax.mul(scale, ROUNDING * float(dtypes.finfo(aval.dtype).eps))
    differ = matrices.beside(lax.gt(lax.sub(highest, lowest), room), aval.shape, aval.ndim - 1)
    untold = lax.bitwise_and(zero, differ)
    return ct_v, lax.select(untold, lax.full_like(ct_w, np.nan), ct_w), None


@told_of_zero_singular_values.rule("transpose")
def transpose_told_of_zero_singular_values(op, cts, du, ds, dvh, s):
    """What is smooth is odd or even in each singular value, with its vectors. So a cotangent of a singular
    value of 0 that is not 0 comes of vectors with a slope, of which it knows one component. There are no
    others for one value of a real square matrix; of a complex one there is the phase, of a matrix that is not
    square what is orthogonal to all vectors, of several values one another.
    """
    ct_u, ct_s, ct_vh = cts
    if type(ct_s) is Zero or (type(ct_u) is Zero and type(ct_vh) is Zero):
        return ct_u, ct_s, ct_vh, None
    u, vh, aval = typeof(du), typeof(dvh), typeof(ct_s)
    zero = lax.eq(s, 0.0)
    one_is_enough = u.kind == "c" or u.shape[-2] != vh.shape[-1]
    some = several(zero, 1 if one_is_enough else 2, aval.shape)
    untold = lax.bitwise_and(lax.bitwise_and(zero, some), lax.ne(ct_s, 0.0))
    return ct_u, lax.select(untold, lax.full_like(ct_s, np.nan), ct_s), ct_vh, None
