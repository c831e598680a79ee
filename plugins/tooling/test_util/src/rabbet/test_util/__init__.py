"""Derivatives against finite differences, in one random direction: for the tests of your own functions and of
rules that you gave them.

A central difference of step ``h`` is off by about ``h**2`` and by ``e / h``, where ``e`` is the precision of
the
dtype. So test in float64 where you can: with a float32 argument three digits are certain, and with a float64
one seven.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import rabbet as rb
from rabbet import dtypes, tree
from rabbet.extend.functions import describe_function, public_module
from rabbet.tree import keystr, leaf_path
from rabbet.extend.primitive import tangent_aval
from rabbet.extend.transform import typeof

__all__ = ["check_grads", "check_jvp", "check_vjp"]

# By bits of the real part: the step, and how far a derivative may be off, absolutely and relatively.
STEPS = {8: 0.25, 16: 3e-2, 32: 5e-3, 64: 5e-6}
TOLERANCES = {8: 0.5, 16: 5e-2, 32: 2e-3, 64: 1e-6}


def check_grads(
    f: Callable,
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
) -> None:
    """Check the derivatives of ``f`` at ``f(*args)`` up to an order.

    Args:
      f: takes and returns pytrees of arrays.
      args: a tuple of its arguments; those of floating or complex dtype are moved.
      order: 1 checks the first derivatives, 2 the second ones as well, and so on.
      modes: ``"fwd"`` checks ``rb.jvp``, ``"rev"`` checks ``rb.vjp``; with both also their mixtures.
      atol, rtol: how far a derivative may be off; by default what the narrowest dtype allows.
      eps: the step of the differences; by default what suits the narrowest dtype.

    Raises:
      AssertionError: for a derivative that is off; says which output, and both values.
      ValueError: for an unknown mode, or an order below 1.

    Example:
      >>> check_grads(lambda x: rnp.sin(x) * x, (0.5,), order=2)
    """
    args = tuple(args)
    modes = (modes,) if isinstance(modes, str) else tuple(modes)
    unknown = set(modes) - {"fwd", "rev"}
    if unknown or not modes:
        raise ValueError(f"check_grads: modes are 'fwd' and 'rev', got {modes}")
    if order < 1:
        raise ValueError(f"check_grads: order must be at least 1, got {order}")
    _check(f, args, order, modes, atol, rtol, eps, describe_function(f))


def _check(f, args, order, modes, atol, rtol, eps, path):
    draws = np.random.RandomState(order)
    if "fwd" in modes:
        check_jvp(f, partial(rb.jvp, f), args, atol, rtol, eps, f"jvp of {path}")
        if order > 1:
            directions = _directions(args, draws)
            _check(
                lambda *xs: rb.jvp(f, xs, directions),
                args,
                order - 1,
                modes,
                atol,
                rtol,
                eps,
                f"jvp of {path}",
            )
    if "rev" in modes:
        check_vjp(f, partial(rb.vjp, f), args, atol, rtol, eps, f"vjp of {path}")
        if order > 1:
            cotangent = _directions(f(*args), draws)

            def pulled(*xs):
                out, pull = rb.vjp(f, *xs)
                grads = pull(cotangent)
                return out, [g for g in tree.leaves(grads) if g.dtype != dtypes.float0]

            _check(pulled, args, order - 1, modes, atol, rtol, eps, f"vjp of {path}")


def check_jvp(
    f: Callable,
    f_jvp: Callable,
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Check a forward-mode derivative in a random direction.

    Args:
      f: the function.
      f_jvp: ``f_jvp(args, tangents)`` returns ``(out, out_tangent)``, as ``functools.partial(rb.jvp, f)``
        does.
      args, atol, rtol, eps: as for ``check_grads``.
      err_msg: what the message begins with.

    Raises:
      AssertionError: if the value or the derivative is off.

    Example:
      >>> from functools import partial
      >>> from rabbet.test_util import check_jvp
      >>> check_jvp(lax.sin, partial(rb.jvp, lax.sin), (0.5,))
    """
    args = tuple(args)
    tangents = _directions(args, np.random.RandomState(0))
    out, out_tangent = f_jvp(args, tangents)
    what = err_msg or f"jvp of {describe_function(f)}"
    tolerance = _tolerance((args, out), atol, rtol)
    _compare(f"{what}: the value", out, f(*args), *tolerance)
    _compare(f"{what}: the tangent", out_tangent, _difference(f, args, tangents, eps), *tolerance)


def check_vjp(
    f: Callable,
    f_vjp: Callable,
    args: Sequence[Any],
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    err_msg: str = "",
) -> None:
    """Check a reverse-mode derivative: its product with a random direction is that of a difference with a
    random cotangent.

    Args:
      f: the function.
      f_vjp: ``f_vjp(*args)`` returns ``(out, pull)``, as ``functools.partial(rb.vjp, f)`` does.
      args, atol, rtol, eps: as for ``check_grads``.
      err_msg: what the message begins with.

    Raises:
      AssertionError: if the value or the derivative is off.

    Example:
      >>> from functools import partial
      >>> from rabbet.test_util import check_vjp
      >>> check_vjp(lax.sin, partial(rb.vjp, lax.sin), (0.5,))
    """
    args = tuple(args)
    draws = np.random.RandomState(0)
    out, pull = f_vjp(*args)
    what = err_msg or f"vjp of {describe_function(f)}"
    atol, rtol = _tolerance((args, out), atol, rtol)
    _compare(f"{what}: the value", out, f(*args), atol, rtol)
    tangents, cotangents = _directions(args, draws), _directions(out, draws)
    change = _difference(f, args, tangents, eps)
    # Sums of many products, which may cancel: what may be off grows with their size.
    expected, scale = _product(cotangents, change)
    found, other = _product(pull(cotangents), tangents)
    _compare(
        f"{what}: the product with a direction", found, expected, max(atol, rtol * max(scale, other)), rtol
    )


def _bits(values):
    """Of the narrowest moving dtype, per real number."""
    found = [64]
    for x in tree.leaves(values):
        dtype = typeof(x).dtype
        if dtypes.kind(dtype) in "fc":
            found.append(dtypes.itemsize_bits(dtype) // (2 if dtypes.kind(dtype) == "c" else 1))
    return min(found)


def _tolerance(values, atol, rtol):
    own = TOLERANCES[max(8, _bits(values))]
    return own if atol is None else atol, own if rtol is None else rtol


def _directions(values, draws):
    """Random tangents for a pytree of arrays or types: of length about one in all."""

    def one(x):
        aval = tangent_aval(typeof(x))
        if aval.dtype == dtypes.float0:
            return np.zeros(aval.shape, dtypes.float0)
        numbers = draws.standard_normal(aval.shape)
        if dtypes.kind(aval.dtype) == "c":
            numbers = numbers + 1j * draws.standard_normal(aval.shape)
        return rb.lax.convert_element_type(np.asarray(numbers), aval.dtype)

    return tree.map(one, values)


def _wide(x):
    """A NumPy array of 64-bit numbers, in which sums lose nothing."""
    host = np.asarray(x)
    return host.astype(np.complex128 if dtypes.kind(host.dtype) == "c" else np.float64)


def _difference(f, args, tangents, eps):
    """The central difference of ``f`` along ``tangents``; zeros where an output has none."""
    step = STEPS[max(8, _bits(args))] if eps is None else eps

    def moved(sign):
        def one(x, t):
            aval = typeof(x)
            if np.asarray(t).dtype == dtypes.float0:
                return x
            return rb.lax.convert_element_type(_wide(x) + sign * step * _wide(t), aval.dtype)

        return f(*tree.map(one, args, tangents))

    def difference(low, high):
        aval = tangent_aval(typeof(high))
        if aval.dtype == dtypes.float0:
            return np.zeros(aval.shape, dtypes.float0)
        return (_wide(high) - _wide(low)) / (2 * step)

    return tree.map(difference, moved(-1), moved(1))


def _product(a, b):
    """The sum of the products of two pytrees, without float0 leaves, and the size of its terms."""
    total, scale = 0.0, 0.0
    for x, y in zip(tree.leaves(a), tree.leaves(b), strict=True):
        if np.asarray(x).dtype == dtypes.float0 or np.asarray(y).dtype == dtypes.float0:
            continue
        terms = np.real(_wide(x) * _wide(y)) if np.iscomplexobj(_wide(x)) else _wide(x) * _wide(y)
        total, scale = total + terms.sum(), scale + np.sqrt(np.square(np.abs(terms)).sum())
    return float(np.real(total)), float(scale)


def _compare(what, found, expected, atol, rtol):
    structure, wanted = tree.structure(found), tree.structure(expected)
    if structure != wanted:
        raise AssertionError(f"{what} has the structure {structure}, expected {wanted}")
    for i, (x, y) in enumerate(zip(tree.leaves(found), tree.leaves(expected), strict=True)):
        if np.asarray(x).dtype == dtypes.float0 or np.asarray(y).dtype == dtypes.float0:
            continue
        path = keystr(leaf_path(structure, i))
        np.testing.assert_allclose(
            _wide(x), _wide(y), rtol=rtol, atol=atol, err_msg=f"{what}{f' {path}' if path else ''} is off"
        )


public_module(globals())
