"""What the solvers share: operators, trees as vectors, and derivatives."""

from typing import Any, NamedTuple

import numpy as np
from rabbet_autodiff import linear_transpose

import rabbet.numpy as rnp
from rabbet import dtypes, lax, tree
from rabbet.extend.transform import typeof


def operator(name, argument, given):
    """The function ``x -> A x`` that an array, a function or an object with ``@`` stands for."""
    if callable(given):
        return given
    shape = getattr(given, "shape", None)
    if shape is not None and (len(shape) != 2 or shape[0] != shape[1]):
        raise ValueError(
            f"{name}: {argument} must be a square matrix or a function, got shape {tuple(shape)}"
        )
    if hasattr(given, "__matmul__"):
        if isinstance(given, np.ndarray):
            given = rnp.asarray(given)
        return lambda x: given @ x
    raise TypeError(
        f"{name}: {argument} must be a function, a matrix or have the operator @, "
        f"got a {type(given).__name__}"
    )


def as_float(x):
    x = rnp.asarray(x)
    return rnp.asarray(x, dtypes.to_inexact(x.dtype))


def vdot(x, y):
    """``sum(conj(x) y)`` over all leaves; its real part where numbers are complex."""
    return sum(rnp.real(rnp.vdot(a, b)) for a, b in zip(tree.leaves(x), tree.leaves(y), strict=True))


def dot(x, y):
    """``sum(conj(x) y)`` over all leaves."""
    return sum(rnp.vdot(a, b) for a, b in zip(tree.leaves(x), tree.leaves(y), strict=True))


def as_vector(x):
    """A tree as one vector, in the common dtype of its leaves, and the function that makes a tree of one."""
    leaves, structure = tree.flatten(x)
    ends = np.cumsum([leaf.size for leaf in leaves])[:-1].tolist()

    def as_tree(v):
        parts = [
            rnp.asarray(part.reshape(leaf.shape), leaf.dtype)
            for part, leaf in zip(rnp.split(v, ends), leaves, strict=True)
        ]
        return tree.unflatten(structure, parts)

    dtype = rnp.result_type(*leaves)
    return rnp.concatenate([rnp.asarray(leaf, dtype).reshape(-1) for leaf in leaves]), as_tree


def sub(x, y):
    return tree.map(rnp.subtract, x, y)


def moved(x, step, direction):
    """``x + step direction``, in the dtypes of ``x``."""
    return tree.map(lambda a, d: a + rnp.asarray(step, step_dtype(a, step)) * d, x, direction)


def step_dtype(a, step):
    """The dtype in which a number is multiplied with an array, so that the array keeps its own."""
    if dtypes.kind(typeof(step).dtype) == "c":
        return dtypes.to_complex(a.dtype)
    return a.real.dtype if dtypes.kind(a.dtype) == "c" else a.dtype


class Limits(NamedTuple):
    """When to stop."""

    tol: Any
    atol: Any
    maxiter: Any


def limits_of(name, b, tol, atol, maxiter, most):
    if maxiter is None:
        maxiter = most * sum(x.size for x in tree.leaves(b))
    return Limits(tol, atol, maxiter)


def enough(b, limits):
    """The square of the residual's norm with which an iteration is done."""
    return rnp.maximum(rnp.square(limits.tol) * vdot(b, b), rnp.square(limits.atol))


def same_structure(name, what, given, b):
    """Refuse an operator that returns another structure than ``b`` has."""
    if given != tree.structure(b):
        raise TypeError(
            f"{name}: {what} must return the structure of b, {tree.structure(b)}, it returned {given}"
        )


def keeping(name, what, given, b):
    """An operator whose results are checked for the structure of ``b``."""

    def checked(x):
        out = given(x)
        same_structure(name, what, tree.structure(out), b)
        return out

    return checked


def solved(name, steps, A, b, x0, M, symmetric):
    """Run ``steps(A, b, x0, M)``, as a function of ``b`` and of whatever ``A`` is made of.

    Raises:
      ValueError: if ``x0`` and ``b`` are not trees of equal structure and shapes.
    """
    A = operator(name, "A", A)
    b = tree.map(as_float, b)
    if x0 is None:
        x0 = tree.map(rnp.zeros_like, b)
    else:
        x0 = tree.map(lambda x: rnp.asarray(x), x0)
    if tree.structure(x0) != tree.structure(b):
        raise ValueError(
            f"{name}: x0 and b must have one structure, got {tree.structure(x0)} and {tree.structure(b)}"
        )
    shapes = [[x.shape for x in tree.leaves(t)] for t in (x0, b)]
    if shapes[0] != shapes[1]:
        raise ValueError(f"{name}: x0 and b must have equal shapes, got {shapes[0]} and {shapes[1]}")
    dtype = rnp.result_type(*tree.leaves(b), *tree.leaves(tree.map(lambda x: x, x0)))
    out, given = tree.flatten(A(b))
    same_structure(name, "A", given, b)
    dtype = rnp.result_type(dtype, *out) if out else dtype
    if dtypes.kind(dtype) == "c":
        b, x0 = [tree.map(lambda x: rnp.asarray(x, dtypes.to_complex(x.dtype)), t) for t in (b, x0)]
    x0 = tree.map(lambda x, like: rnp.asarray(x, like.dtype), x0, b)
    preconditioner = None if M is None else keeping(name, "M", operator(name, "M", M), b)
    start = lax.stop_gradient(x0)

    def forward(matvec, right):
        return steps(matvec, right, start, preconditioner or (lambda x: x))

    def backward(vecmat, right):
        none = tree.map(rnp.zeros_like, right)
        if preconditioner is None:
            return steps(vecmat, right, none, lambda x: x)
        turned = linear_transpose(preconditioner, right)
        return steps(vecmat, right, none, lambda x: turned(x)[0])

    real = all(dtypes.kind(x.dtype) != "c" for x in tree.leaves(b))
    x = lax.custom_linear_solve(A, b, forward, backward, symmetric=symmetric and real)
    return x, None
