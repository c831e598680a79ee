"""``minimize``: the method is chosen, and derivatives of the minimum are those of the equation that it
solves.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from rabbet_autodiff import grad, jacfwd

import rabbet.numpy as rnp
from rabbet import Array, dtypes, lax
from rabbet.extend.functions import is_array_like
from rabbet.scipy.inputs import array
from rabbet.scipy.optimize.bfgs import bfgs
from rabbet.scipy.optimize.bounded import lbfgsb, limits
from rabbet.scipy.optimize.lbfgs import lbfgs
from rabbet.scipy.sparse.linalg import bicgstab, cg

METHODS = {
    "bfgs": bfgs, "l-bfgs": lbfgs, "l-bfgs-b": lbfgs, "l-bfgs-experimental-do-not-rely-on-this": lbfgs,
}  # fmt: skip
DENSE = 200  # up to how many unknowns the derivative of a minimum is found by the whole matrix


class OptimizeResults(NamedTuple):
    """What ``minimize`` returns.

    Attributes:
      x: the point that was reached.
      success: whether the gradient is small enough there.
      status: 0: yes; 1: there were as many steps as allowed; 3: no step goes down any more, often because
        rounding does not allow it; 5: the same, after as many tries as allowed.
      fun, jac: the function and its gradient at ``x``.
      hess_inv: the last approximation of the inverse Hessian; None for L-BFGS.
      nfev, njev: how often the function and its gradient were computed.
      nit: how many steps were made.

    Example:
      >>> from rabbet.scipy.optimize import minimize
      >>> found = minimize(lambda x: rnp.sum((x - 3) ** 2), rnp.zeros(2), method='BFGS')
      >>> bool(rnp.allclose(found.x, 3.0)), bool(found.success)
      (True, True)
    """

    x: Array
    success: bool | Array
    status: int | Array
    fun: Array
    jac: Array
    hess_inv: Array | None
    nfev: int | Array
    njev: int | Array
    nit: int | Array


def minimize(
    fun: Callable[..., Array],
    x0: Array,
    args: tuple = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
    bounds: Any = None,
) -> OptimizeResults:
    """Find a local minimum of a function of a vector, also between bounds.

    Args:
      fun: ``fun(x, *args)`` returns a number; it can be differentiated.
      x0: of shape ``(n,)``, floating or complex: where to start.
      args: a tuple of further arguments.
      method: ``"BFGS"``: with the whole approximation of the inverse Hessian; ``"L-BFGS"`` (or
        ``"l-bfgs-experimental-do-not-rely-on-this"``, ``"L-BFGS-B"``): with the last ``maxcor`` steps, for
        many unknowns.
      tol: how small the gradient's largest component must be, 1e-5 by default (``gtol``); between bounds,
        that of ``x`` minus ``x - gradient`` brought between them.
      options: ``maxiter`` (200 times ``n``), ``gtol``, ``norm`` (of the gradient; infinity) and
        ``line_search_maxiter`` (10); for L-BFGS ``maxcor`` (10), ``ftol`` (2.22e-9: how little the function
        may still change, relative to its size), ``maxls`` in place of ``line_search_maxiter``, ``maxfun`` and
        ``maxgrad``.
      bounds: for ``"L-BFGS-B"`` and the other names of it: a pair ``(lower, upper)`` for each unknown, None
        for no bound; an array of shape ``(n, 2)``; or an object with ``lb`` and ``ub``, such as SciPy's
        ``Bounds``. ``x0`` is brought between them, and ``fun`` is computed nowhere else.

    Returns:
      ``OptimizeResults``.

    ``x`` and ``fun`` have derivatives with respect to ``args`` and to arrays that ``fun`` closes over: those
    of the minimum (by ``lax.custom_root``), which are right where the gradient is zero and the Hessian
    definite; they do not depend on ``x0`` and the steps. For more than 200 unknowns the equations for them
    are solved by conjugate gradients. An unknown at a bound moves with the bound.

    The methods are those of J. Nocedal and S. Wright, Numerical optimization, 2006, chapters 3, 6 and 7;
    steps fulfil the strong Wolfe conditions, or near the minimum, where differences of values are rounding,
    the approximate ones of W. Hager and H. Zhang, 2005. Between bounds it is that of R. Byrd, P. Lu, J.
    Nocedal and C. Zhu, A limited memory algorithm for bound constrained optimization, 1995.

    Raises:
      TypeError: if ``args`` is not a tuple, ``x0`` holds no such numbers, or an option is unknown.
      ValueError: for an unknown method, ``x0`` that is not a vector, or bounds that do not fit.

    Example:
      >>> distance = lambda x: ((x - rnp.array([1.0, 2.0])) ** 2).sum()
      >>> out = minimize(distance, rnp.zeros(2), method="BFGS")
      >>> print(np.asarray(out.x).round(3) + 0.0, out.success)
      [1. 2.] True
      >>> out = minimize(distance, rnp.zeros(2), method="L-BFGS-B", bounds=[(0, 0.5), (None, None)])
      >>> print(np.asarray(out.x).round(3) + 0.0, out.success)
      [0.5 2. ] True
    """
    if not isinstance(args, tuple):
        raise TypeError(f"minimize: args must be a tuple, got {args!r}; write (args,)")
    steps = METHODS.get(method.lower()) if isinstance(method, str) else None
    if steps is None:
        raise ValueError(f"minimize: method must be 'BFGS' or 'L-BFGS', got {method!r}")
    x0 = array("minimize", x0)
    if bounds is not None and steps is not lbfgs:
        raise ValueError(f"minimize: bounds need method='L-BFGS-B', got {method!r}")
    if dtypes.kind(x0.dtype) == "c" and bounds is not None:
        raise ValueError("minimize: complex numbers have no bounds; minimize over their parts")
    if dtypes.kind(x0.dtype) == "c" and x0.ndim == 1:
        return of_parts(fun, x0, args, method=method, tol=tol, options=options)
    if dtypes.kind(x0.dtype) != "f":
        raise TypeError(f"minimize: x0 must be floating or complex, got {x0.dtype}")
    if x0.ndim != 1:
        raise ValueError(f"minimize: x0 must be a vector, got shape {x0.shape}; reshape it inside of fun")
    settings = dict(options or {})
    if tol is not None:
        settings.setdefault("gtol", tol)

    def of_vector(x):
        value = fun(x, *args)
        if not is_array_like(value):
            raise TypeError(
                f"minimize: fun must return a number, it returned a {type(value).__name__}; return the one "
                f"that "
                "is to be minimized"
            )
        if rnp.shape(value):
            raise ValueError(f"minimize: fun must return a number, got shape {rnp.shape(value)}")
        if (wide := dtypes.result_type(x, value)) != x.dtype:
            raise TypeError(
                f"minimize: x0 has the dtype {x.dtype}, and fun computes in {wide}\n  to fix: an x0 of "
                f"{wide}, or convert to {x.dtype} in fun what it uses beside x"
            )
        return value

    x0 = lax.stop_gradient(rnp.asarray(x0, x0.dtype))
    if bounds is not None:
        return between(of_vector, x0, limits("minimize", bounds, x0), settings)
    x, rest = lax.custom_root(
        grad(of_vector), x0, lambda _, x0: steps(of_vector, x0, **settings), tangents_of, has_aux=True
    )
    return OptimizeResults(x=x, fun=of_vector(x), **rest)


def between(fun, x0, ends, settings):
    """``minimize`` between bounds: the minimum is where going down and back between them changes nothing."""
    lower, upper = ends
    slope = grad(fun)

    def equation(x):
        return x - rnp.minimum(rnp.maximum(x - slope(x), lower), upper)

    still = [lax.stop_gradient(end) for end in ends]
    x, rest = lax.custom_root(
        equation, x0, lambda _, x0: lbfgsb(fun, x0, *still, **settings), tangents_between, has_aux=True
    )
    return OptimizeResults(x=x, fun=fun(x), **rest)


def of_parts(fun, x0, args, **how):
    """``minimize`` over complex numbers: their real and their imaginary parts are the unknowns, of which
    ``hess_inv`` tells; ``jac`` is the derivative by the former minus ``i`` times that by the latter, as of
    ``grad``.
    """
    n = x0.size
    whole = lambda parts: lax.complex(parts[:n], parts[n:])
    parts = rnp.concatenate([x0.real, x0.imag])
    out = minimize(lambda v, *args: fun(whole(v), *args), parts, args, **how)
    return out._replace(x=whole(out.x), jac=rnp.conj(whole(out.jac)))


def tangents_of(hessian, y):
    """Solve ``hessian(x) = y`` for a symmetric linear function."""
    if y.size > DENSE:
        return cg(hessian, y, tol=float(dtypes.finfo(y.dtype).eps) ** 0.75)[0]
    return rnp.linalg.solve(jacfwd(hessian)(rnp.zeros_like(y)), y)


def tangents_between(linear, y):
    """Solve ``linear(x) = y``, which is not symmetric: unknowns at a bound are not moved by the others."""
    if y.size > DENSE:
        return bicgstab(linear, y, tol=float(dtypes.finfo(y.dtype).eps) ** 0.75)[0]
    return rnp.linalg.solve(jacfwd(linear)(rnp.zeros_like(y)), y)
