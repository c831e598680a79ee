"""Functions of numbers applied to matrices, as one operation whose derivatives of any order are its own.

With ``R(z) = (z - A)^-1``, a function of a matrix is the mean of ``f(z) R(z)`` on a curve around the
eigenvalues, and as ``dR = R dA R``, what its derivatives are made of are the means of ``f(z) R E1 R ...``. In
a basis of eigenvectors these are sums over divided differences of ``f`` (Y. Daleckii and S. Krein,
Integration and differentiation of functions of Hermitian operators, 1965), which are defined also where
eigenvalues are equal and their vectors are not functions of the matrix.
"""

import itertools
from typing import Any, NamedTuple

from rabbet_autodiff import jvp, vjp
from rabbet_vmap import vmap

import rabbet.numpy as rnp
from rabbet import dtypes, lax
from rabbet.errors import ShapeError
from rabbet.extend.functions import describe_function
from rabbet.extend.passes import evaluate, stage
from rabbet.extend.primitive import Batched, Dual, Linear, Primitive, ShapedArray, Zero, instantiate
from rabbet.extend.rules import at_front
from rabbet.scipy.inputs import where
from rabbet.scipy.linalg.divided_differences import table
from rabbet.scipy.linalg.matrices import adjoint, diagonal, norm1, product, transposed
from rabbet.scipy.linalg.schur_forms import column, column_by_column, schur_of, shifted_solve, with_column


class Family(NamedTuple):
    """A function of a number and of the arrays that it closed over, differentiated ``directions`` times by
    those of them that are floats. The arrays come with so many sets of directions behind them.
    """

    program: Any
    directions: int

    @property
    def closed_over(self):
        return [v.aval for v in self.program.constvars]

    @property
    def smooth(self):
        """The places of the arrays that can move."""
        return [i for i, aval in enumerate(self.closed_over) if dtypes.issubdtype(aval.dtype, dtypes.inexact)]

    def parts(self, arrays):
        """``(arrays closed over, [a set of directions for each derivative])``."""
        count, step = len(self.closed_over), len(self.smooth)
        sets = [arrays[count + i * step : count + (i + 1) * step] for i in range(self.directions)]
        return list(arrays[:count]), sets

    def leads(self, arrays):
        """How many dimensions in front are those of examples."""
        return arrays[0].ndim - self.closed_over[0].ndim if arrays else 0

    def at(self, x, arrays):
        """The value for one number."""
        known, sets = self.parts(arrays)
        places = self.smooth

        def value(moving, left):
            if left:
                return jvp(lambda m: value(m, left[:-1]), (moving,), (left[-1],))[1]
            given = list(known)
            for i, m in zip(places, moving, strict=True):
                given[i] = m
            return evaluate(self.program, [x], given)[0]

        return value([known[i] for i in places], sets)

    def values(self, points, arrays, order=0):
        """The derivatives of an order by the number, for arrays of numbers."""

        def derivative(x, arrays, order):
            if not order:
                return self.at(x, arrays)
            return jvp(lambda x: derivative(x, arrays, order - 1), (x,), (rnp.ones_like(x),))[1]

        def mapped(points, arrays, leads):
            if leads:
                return vmap(lambda x, arrays: mapped(x, arrays, leads - 1))(points, list(arrays))
            flat = vmap(lambda x: derivative(x, arrays, order))(points.reshape(-1))
            return flat.reshape(points.shape)

        return mapped(points, arrays, self.leads(arrays))


def family_of(name, func, dtype, shape):
    """What ``func`` computes of one number, and the arrays that it closes over."""
    for sizes in (shape, ()):
        closed = stage(lambda x: [rnp.asarray(func(x))], [ShapedArray(sizes, dtype)], name)
        (out,) = [v.aval for v in closed.jaxpr.outvars]
        if out.shape != sizes:
            raise ShapeError(
                f"{name}: func must keep the shape of its argument, element by element, but "
                f"{describe_function(func)} made shape {out.shape} of {sizes}"
            )
    return Family(closed.jaxpr, 0), list(closed.consts), out.dtype


# ------------------------------------------------------------------------------------------- the primitive
spectral_function = Primitive(
    "spectral_function", lambda a, *rest, family, order, hermitian: a.strong(),
    doc="the mean of f(z) R E1 R E2 ... R with the resolvent R of a, which is linear in each E",
)  # fmt: skip


def split(op, rest):
    """The directions of the matrix, and the arrays of the function."""
    order = op.params["order"]
    return list(rest[:order]), list(rest[order:])


def again(op, a, changes, arrays, family=None):
    """The same with other directions."""
    params = {**op.params, "order": len(changes), "family": family or op.params["family"]}
    return spectral_function(a, *changes, *arrays, **params)


@spectral_function.decompose
def by_eigenvectors(op, a, *rest):
    changes, arrays = split(op, rest)
    return computed(op.params["family"], op.params["hermitian"], a, changes, arrays, False)


def computed(family, hermitian, a, changes, arrays, linear):
    """The value.

    Args:
      linear: of a function that is differentiated by what it closes over: choose how to compute differences
        by the function that it comes from, so that all is linear in the last directions.
    """
    if not changes and not hermitian:
        return by_recurrence(family, a, arrays)
    w, v, inverse = decomposed(a, hermitian)

    def values(points, order):
        return rnp.asarray(family.values(points, arrays, order), dtype)

    dtype = a.dtype if rnp.issubdtype(a.dtype, rnp.complexfloating) else w.dtype
    choices = None
    if linear or family.directions:
        known, _ = family.parts(arrays)
        base = Family(family.program, 0)
        choices = table(lambda x, order: rnp.asarray(base.values(x, known, order), dtype), w, len(changes))[1]
    f, _ = table(values, w, len(changes), choices)
    if not changes:
        return product(v * f[..., None, :], inverse)
    letters = "abcdefghijklm"[: len(changes) + 1]
    factors = [product(inverse, e, v) for e in changes]
    terms = [f"...{x}{y}" for x, y in itertools.pairwise(letters)]
    inner = rnp.einsum(
        f"...{letters},{','.join(terms)}->...{letters[0]}{letters[-1]}",
        rnp.asarray(f, a.dtype), *factors, precision="highest",
    )  # fmt: skip
    return product(v, inner, inverse)


def decomposed(a, hermitian):
    """``(w, v, v^-1)`` with ``a = v diag(w) v^-1``; NaN where eigenvectors are too nearly dependent to say
    anything.
    """
    if hermitian:
        v, w = lax.linalg.eigh(a, symmetrize_input=False)
        return w, v, adjoint(v)
    w, v = lax.linalg.eig(a, compute_left_eigenvectors=False)
    inverse = rnp.linalg.inv(v)
    bad = ~(norm1(v) * norm1(inverse) < float(rnp.finfo(a.dtype).eps) ** (-1 / 3))
    return w, where(bad[..., None, None], rnp.nan, v), inverse


def by_recurrence(family, a, arrays):
    """From ``f t = t f`` for the Schur form ``t``: a triangular system for each column."""
    t, z = schur_of(a)
    d = diagonal(t)
    f = rnp.asarray(family.values(d, arrays), t.dtype)
    places = rnp.arange(t.shape[-1])

    def step(j, out):
        tj, fj = column(t, j), column(f[..., None, :], j)
        above = where(places < j, tj, 0)
        right = product(out, above[..., None])[..., 0] - above * fj
        x = shifted_solve(t, -column(d[..., None, :], j)[..., 0], right, places < j)
        return with_column(out, where(places == j, f, x), j)

    eye = rnp.eye(t.shape[-1], dtype=t.dtype)
    return product(z, column_by_column(t.shape[-1], eye * f[..., None, :], step), adjoint(z))


@spectral_function.rule("batch")
def batch_spectral_function(op, a, *rest):
    return Batched(op(*at_front(a, *rest)), 0)


def moved(duals):
    return any(type(d.tangent) is not Zero for d in duals)


@spectral_function.rule("jvp")
def jvp_spectral_function(op, a, *rest):
    changes, arrays = split(op, rest)
    family = op.params["family"]
    x, es, cs = a.primal, [d.primal for d in changes], [d.primal for d in arrays]
    terms = []
    if type(a.tangent) is not Zero:
        terms += [again(op, x, [*es[:p], a.tangent, *es[p:]], cs) for p in range(len(es) + 1)]
    for p, d in enumerate(changes):
        if type(d.tangent) is not Zero:
            terms.append(again(op, x, [*es[:p], d.tangent, *es[p + 1 :]], cs))
    known, sets = family.parts(arrays)
    known = [known[i] for i in family.smooth]
    if moved(known):
        more = [instantiate(d.tangent) for d in known]
        terms.append(again(op, x, es, [*cs, *more], Family(family.program, family.directions + 1)))
    for i, directions in enumerate(sets):
        if moved(directions):
            at = len(family.closed_over) + i * len(family.smooth)
            new = [instantiate(d.tangent) for d in directions]
            terms.append(again(op, x, es, [*cs[:at], *new, *cs[at + len(new) :]]))
    tangent = None
    for term in terms:
        tangent = term if tangent is None else tangent + term
    return Dual(op(x, *es, *cs), tangent)


@spectral_function.rule("transpose")
def transpose_spectral_function(op, ct, a, *rest):
    """With respect to one direction of the matrix the others go round: the trace of a product does not change
    when its last factor becomes its first.
    """
    changes, arrays = split(op, rest)
    ct = instantiate(ct)
    out = [None] * (1 + len(rest))
    for p, e in enumerate(changes):
        if type(e) is Linear:
            turned = [*changes[p + 1 :], transposed(ct), *changes[:p]]
            out[1 + p] = transposed(again(op, a, turned, arrays))
            return tuple(out)
    linear = [i for i, x in enumerate(arrays) if type(x) is Linear]

    def value(directions):
        given = list(arrays)
        for i, x in zip(linear, directions, strict=True):
            given[i] = x
        return computed(op.params["family"], op.params["hermitian"], a, changes, given, True)

    zeros = [rnp.zeros(arrays[i].shape, arrays[i].dtype) for i in linear]
    (cotangents,) = vjp(value, zeros)[1](ct)
    for i, x in zip(linear, cotangents, strict=True):
        out[1 + len(changes) + i] = x
    return tuple(out)


def applied(name, func, a, hermitian):
    """``func`` of the matrices ``a``."""
    dtype = a.real.dtype if hermitian else a.dtype
    family, arrays, out = family_of(name, func, dtype, a.shape[:-1])
    if dtypes.kind(out) == "c" and dtypes.kind(a.dtype) != "c":
        a = rnp.asarray(a, rnp.result_type(a.dtype, rnp.complex64))
    if not a.shape[-1]:
        return a
    return spectral_function(a, *map(rnp.asarray, arrays), family=family, order=0, hermitian=hermitian)


