"""How eigenvectors and eigenvalues of Hermitian matrices change, with derivatives that know the matrix.

With ``P = v^H da v`` and ``F[i, j] = 1 / (w[j] - w[i])`` the change of ``w`` is the diagonal of ``P``, and
that of ``v`` is ``v (F P)``. Where eigenvalues are equal, their vectors are no functions of the matrix, and
these columns are infinite or NaN. The derivative of another column is a number: of those vectors it knows the
space alone. A derivative that went through the vectors would mix their infinities into it. So the changes are
primitives that take the matrix itself, and the derivative of a column is made of what belongs to that column:

    d v'[:, j] = v C[:, j],  B = F P,  B' = F P',  C = F (P B' + P' B - B D' - B' D) - E(B^H B')

for changes ``P`` and ``P'`` with the diagonals ``D`` and ``D'``; ``E`` is the diagonal of what follows, with
what stands between equal eigenvalues. Columns of equal eigenvalues are infinite where a change moves these
among themselves. All products of matrices are of numbers, so that no infinity gets into other columns, nor do
the zeros of cotangents that leave such columns out meet one.
"""

import numpy as np

from rabbet import lax
from rabbet.extend.primitive import Batched, Dual, Primitive, Zero, full_of_type
from rabbet.extend.rules import at_front, to_dtype
from rabbet.extend.transform import typeof
from rabbet.lax.linalg import matrices
from rabbet.lax.linalg.primitives.factor_parts import (
    as_row,
    diagonal,
    inverse_differences,
    real_part,
    scaled_columns,
    times_or_zero,
    without_diagonal,
)  # fmt: skip

product, adjoint = matrices.product, matrices.adjoint


def within(v, x):
    """``v^H x v``."""
    return product(product(adjoint(v), x), v)


def around(v, x):
    """``v x v^H``."""
    return product(product(v, x), adjoint(v))


class Gaps:
    """``F``, and what is masked where eigenvalues are equal.

    Attributes:
      all: ``F``, infinite between equal eigenvalues.
      between: ``F``, 0 between equal eigenvalues.
      beside: infinite between equal eigenvalues, else 0.
      columns: infinite in columns of equal eigenvalues, else 0.
    """

    def __init__(self, w, dtype):
        found = inverse_differences(w)
        aval = typeof(found)
        nothing, infinite = full_of_type(aval, 0), full_of_type(aval, np.inf)
        self.equal = lax.eq(lax.abs(found), np.inf)
        tied = as_row(lax.reduce_or(self.equal, axes=(aval.ndim - 2,)), aval.shape)
        self.all = to_dtype(found, dtype)
        self.between = to_dtype(lax.select_n(self.equal, found, nothing), dtype)
        self.beside = to_dtype(lax.select_n(self.equal, nothing, infinite), dtype)
        self.columns = to_dtype(lax.select_n(tied, nothing, infinite), dtype)

    def of_equal(self, x):
        """Only what stands between equal eigenvalues."""
        return lax.select_n(self.equal, full_of_type(typeof(x).strong(), 0), x)

    def own(self, x):
        """The diagonal, and what stands between equal eigenvalues."""
        return lax.add(on_diagonal(x), self.of_equal(x))

    def along(self, b, p):
        """``b D``, infinite in columns of equal eigenvalues that ``p`` mixes."""
        moved = times_or_zero(self.columns, product(b, self.of_equal(p)))
        return lax.add(scaled_columns(b, diagonal(p)), moved)

    def along_of_b(self, z, p):
        """The adjoint of ``along`` as a function of ``b``."""
        moved = product(times_or_zero(self.columns, z), adjoint(self.of_equal(p)))
        return lax.add(scaled_columns(z, matrices.conjugate(diagonal(p))), moved)

    def along_of_p(self, z, b):
        """The adjoint of ``along`` as a function of ``p``."""
        moved = self.of_equal(product(adjoint(b), times_or_zero(self.columns, z)))
        return lax.add(on_diagonal(product(adjoint(b), z)), moved)


def on_diagonal(x):
    """Each matrix with zeros beside its diagonal."""
    return lax.sub(x, without_diagonal(x))


def _batch(op, *operands):
    return Batched(op(*at_front(*operands)), 0)


def _linear_jvp(bend):
    """The rule ``jvp`` of a primitive that is linear in its first operand and else a function of ``h``, whose
    vectors and values are given with it: ``bend(x, change of h, v, w)`` is its derivative by ``h``.
    """

    def jvp(op, x, h, v, w):
        given = (h.primal, v.primal, w.primal)
        out, terms = op(x.primal, *given), []
        if type(x.tangent) is not Zero:
            terms.append(op(x.tangent, *given))
        if type(h.tangent) is not Zero:
            terms.append(bend(x.primal, h.tangent, v.primal, w.primal))
        if not terms:
            return Dual(out, Zero(typeof(out)))
        return Dual(out, terms[0] if len(terms) == 1 else lax.add(*terms))

    return jvp


def primitive(name, aval, decompose, bend, doc):
    made = Primitive(name, aval, operands=("x", "h", "v", "w"), doc=doc)
    made.decompose(lambda op, x, h, v, w: decompose(x, v, w))
    made.rule("batch")(_batch)
    made.rule("jvp")(_linear_jvp(bend))
    return made


# ------------------------------------------------------------------------------------------------- vectors
def of_vectors(change, v, w):
    gaps = to_dtype(inverse_differences(w), typeof(v).dtype)
    return product(v, times_or_zero(gaps, within(v, change)))


def bend_of_vectors(change, more, v, w):
    f = Gaps(w, typeof(v).dtype)
    p, q = within(v, change), within(v, more)
    b, c = lax.mul(f.between, p), lax.mul(f.between, q)
    inner = lax.sub(lax.add(product(q, b), product(p, c)), lax.add(f.along(b, q), f.along(c, p)))
    inner = lax.add(inner, times_or_zero(f.beside, lax.mul(p, q)))
    turn = times_or_zero(f.all, inner)
    return product(v, lax.sub(turn, f.own(product(adjoint(c), b))))


def of_cotangents(ct, v, w):
    gaps = to_dtype(inverse_differences(w), typeof(v).dtype)
    return around(v, times_or_zero(gaps, product(adjoint(v), ct)))


def bend_of_cotangents(ct, more, v, w):
    """The adjoint of ``bend_of_vectors`` as a function of its first change."""
    f = Gaps(w, typeof(v).dtype)
    y, q = product(adjoint(v), ct), within(v, more)
    c, z = lax.mul(f.between, q), times_or_zero(f.all, y)
    by_b = lax.sub(product(adjoint(q), z), f.along_of_b(z, q))
    by_b = lax.sub(by_b, product(c, f.own(y)))
    by_p = lax.sub(product(z, adjoint(c)), f.along_of_p(z, c))
    by_p = lax.add(by_p, lax.mul(matrices.conjugate(q), times_or_zero(f.beside, z)))
    return around(v, lax.add(lax.mul(f.between, by_b), by_p))


vector_changes = primitive(
    "eigenvector_changes", lambda x, h, v, w: x.strong(), of_vectors, bend_of_vectors,
    "the changes of the eigenvectors v of h with a change x of h",
)  # fmt: skip
vector_cotangents = primitive(
    "eigenvector_cotangents", lambda x, h, v, w: x.strong(), of_cotangents, bend_of_cotangents,
    "the adjoint of eigenvector_changes",
)  # fmt: skip


@vector_changes.rule("transpose")
def transpose_vector_changes(op, ct, x, h, v, w):
    return matrices.conjugate(vector_cotangents(matrices.conjugate(ct), h, v, w)), None, None, None


@vector_cotangents.rule("transpose")
def transpose_vector_cotangents(op, ct, x, h, v, w):
    return matrices.conjugate(vector_changes(matrices.conjugate(ct), h, v, w)), None, None, None


# -------------------------------------------------------------------------------------------------- values
def of_values(change, v, w):
    return real_part(diagonal(within(v, change)))


def bend_of_values(change, more, v, w):
    gaps = to_dtype(inverse_differences(w), typeof(v).dtype)
    p, q = within(v, change), within(v, more)
    both = times_or_zero(matrices.conjugate(p), times_or_zero(gaps, q))
    return lax.mul(real_part(lax.reduce_sum(both, axes=(typeof(v).ndim - 2,))), 2.0)


def of_value_cotangents(ct, v, w):
    return product(scaled_columns(v, ct), adjoint(v))


def bend_of_value_cotangents(ct, more, v, w):
    aval = typeof(v)
    gaps = to_dtype(inverse_differences(w), aval.dtype)
    turn = times_or_zero(gaps, within(v, more))
    turn = times_or_zero(turn, as_row(to_dtype(ct, aval.dtype), aval.shape))
    return around(v, lax.add(turn, adjoint(turn)))


value_changes = primitive(
    "eigenvalue_changes", lambda x, h, v, w: w.strong(), of_values, bend_of_values,
    "the changes of the eigenvalues w of h with a change x of h",
)  # fmt: skip
value_cotangents = primitive(
    "eigenvalue_cotangents", lambda x, h, v, w: v.strong(), of_value_cotangents, bend_of_value_cotangents,
    "the adjoint of eigenvalue_changes",
)  # fmt: skip


@value_changes.rule("transpose")
def transpose_value_changes(op, ct, x, h, v, w):
    return matrices.conjugate(value_cotangents(ct, h, v, w)), None, None, None


@value_cotangents.rule("transpose")
def transpose_value_cotangents(op, ct, x, h, v, w):
    return value_changes(matrices.conjugate(ct), h, v, w), None, None, None
