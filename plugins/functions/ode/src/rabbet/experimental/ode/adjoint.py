"""``odeint`` and its derivative.

Reverse mode solves the adjoint equation backwards from one time to the one before, beside the equation
itself,
so that memory is that of the solution at ``t`` alone (L. S. Pontryagin and others, 1962; R. T. Q. Chen and
others, Neural Ordinary Differential Equations, 2018).
"""

import functools
import math
import weakref
from collections.abc import Callable, Hashable
from types import MethodType
from typing import Any

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import dtypes, lax, tree
from rabbet.experimental.ode.solver import Tolerances, solve
from rabbet.extend.functions import describe_function, is_evaluating, named_like
from rabbet.extend.passes import stage
from rabbet.extend.transform import typeof
from rabbet.extend.wrapping import under_name
from rabbet.flatten_util import ravel_pytree


def odeint(
    func: Callable,
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = math.inf,
    hmax: float = math.inf,
) -> Any:
    """The solution of ``y' = func(y, t, *args)`` from ``y0`` at the time ``t[0]``.

    Steps are of fifth order (Dormand and Prince) and as long as the tolerances allow; float32 reaches about
    1e-6.

    Args:
      func: ``func(y, t, *args)`` returns the derivative, with the structure and shapes of ``y``.
      y0: the state at the beginning, a pytree of floating or complex arrays.
      t: the times at which to return the state, a vector that increases strictly.
      args: further arguments of ``func``, pytrees of arrays.
      rtol, atol: how far one step may be off: ``atol + rtol * abs(y)``.
      mxstep: how many steps may lie between two times. Where they do not suffice, the state is NaN.
      hmax: the longest step.

    Returns:
      the states, a pytree like ``y0`` with a new first dimension as long as ``t``.

    Raises:
      TypeError: for times that are no vector of real numbers, or a ``func`` whose result is no derivative.

    Outside of other transformations it is one compiled program; ``func`` is traced again for another
    function and for other types of arguments, as by ``jit``.

    Reverse mode differentiates with respect to ``y0``, ``t``, ``args`` and the arrays that ``func`` closes
    over.

    Example:
      >>> odeint(lambda y, t: -y, 1.0, rnp.linspace(0.0, 1.0, 3))
      Array([1.        , 0.60653067, 0.36787945], dtype=float32)
    """
    limits = Tolerances(float(rtol), float(atol), int(min(mxstep, 2**31 - 1)), float(hmax))
    if is_evaluating() and isinstance(func, Hashable):
        return compiled(func, limits)(y0, t, *args)
    return solution(func, limits, y0, t, *args)


MOST_PROGRAMS = 16  # of one function, by its tolerances, or of one object, by its methods too
_programs: Any = weakref.WeakKeyDictionary()


def compiled(func, limits):
    """``solution`` as one program, kept for the next call as long as the function lives, or the object whose
    method it is: neither it nor what it captured is kept alive from here.
    """
    bound = type(func) is MethodType
    method: Any
    owner, method = (func.__self__, func.__func__) if bound else (func, None)
    try:
        programs, alive = _programs.setdefault(owner, {}), weakref.ref(owner)
    except TypeError:  # what cannot be hashed or referred to weakly
        return functools.partial(solution, func, limits)

    def function():
        return MethodType(method, alive()) if bound else alive()

    def later(y, t, *args):  # what derivatives of the program refer to
        return function()(y, t, *args)

    def solved(y0, t, *args):
        return solution(function(), limits, y0, t, *args, later=later)

    found = programs.get((method, limits))
    if found is None:
        if len(programs) >= MOST_PROGRAMS:
            programs.clear()
        name = getattr(func, "__name__", type(func).__name__)
        found = programs[method, limits] = rb.jit(under_name(solved, name))
    return found


def solution(func, limits, y0, t, *args, later=None):
    """What ``odeint`` returns; see there. ``later`` is kept in place of ``func``, if it is given."""
    for leaf in tree.leaves(y0):
        if dtypes.kind(typeof(leaf).dtype) not in "fciub":
            raise TypeError(f"odeint: y0 must hold numbers, got {typeof(leaf).str_short()}")
    flat, unravel = ravel_pytree(tree.map(_inexact, y0))
    real = rnp.abs(flat).dtype
    ts = rnp.asarray(t)
    if ts.ndim != 1 or dtypes.kind(ts.dtype) not in "fiu" or not ts.size:
        raise TypeError(f"odeint: t must be a vector of real times, got {ts.aval.str_short()}")
    ts = ts.astype(real)
    func, later = listed(func, y0), later and listed(later, y0)
    check_derivative(func, unravel(flat), ts[0], args)
    converted, captured = rb.closure_convert(later or func, unravel(flat), ts[0], *args)
    return in_rows(_solved(converted, unravel, limits, flat, ts, (args, tuple(captured))), unravel(flat))


def listed(func, y0):
    """``func``, whose list of numbers is a vector where the state is one."""
    if not hasattr(y0, "shape"):
        return func

    def derivative(y, t, *args):
        out = func(y, t, *args)
        return rnp.stack([rnp.asarray(x) for x in out]) if isinstance(out, (list, tuple)) else out

    return named_like(derivative, func)


def check_derivative(func, y, t, args):
    """Refuse a function whose result has not the structure and shapes of the state."""
    leaves, structure = tree.flatten((y, t, args))
    found = None

    def on_leaves(*leaves):
        nonlocal found
        y, t, args = tree.unflatten(structure, leaves)
        outs, found = tree.flatten(func(y, t, *args))
        return outs

    avals = stage(named_like(on_leaves, func), [typeof(x) for x in leaves]).out_avals
    wanted = [typeof(x) for x in tree.leaves(y)]
    if found != tree.structure(y) or [a.shape for a in avals] != [a.shape for a in wanted]:
        raise TypeError(
            f"odeint: {describe_function(func)} must return a derivative like the state, "
            f"{tree.structure(y)} of {_shown(wanted)}; it returned {found} of {_shown(avals)}"
        )


def _shown(avals):
    return ", ".join([a.str_short() for a in avals])


def in_rows(rows, like):
    """The pytree whose leaves have the rows' numbers behind a first dimension."""
    leaves, structure = tree.flatten(like)
    out, start = [], 0
    for x in leaves:
        aval = typeof(x)
        part = rows[:, start : start + aval.size].reshape(rows.shape[0], *aval.shape)
        if dtypes.kind(part.dtype) == "c" and dtypes.kind(aval.dtype) != "c":
            part = rnp.real(part)
        out.append(part.astype(aval.dtype))
        start += aval.size
    return tree.unflatten(structure, out)


def _inexact(x):
    return lax.convert_element_type(x, dtypes.to_inexact(typeof(x).dtype))


def _on_vectors(func, unravel, y, t, parameters):
    """The derivative of a flat state."""
    args, captured = parameters
    return ravel_pytree(func(unravel(y), t, *args, *captured))[0].astype(y.dtype)


def _itself(x):
    return x


@functools.partial(rb.custom_vjp, nondiff_argnums=(0, 1, 2))
def _solved(func, unravel, limits, y0, ts, parameters):
    return solve(lambda y, t: _on_vectors(func, unravel, y, t, parameters), y0, ts, limits)


def _solved_forward(func, unravel, limits, y0, ts, parameters):
    ys = _solved(func, unravel, limits, y0, ts, parameters)
    return ys, (ys, ts, parameters)


def _solved_backward(func, unravel, limits, residuals, g):
    ys, ts, parameters = residuals
    leaves, structure = tree.flatten(parameters)
    moving = [i for i, x in enumerate(leaves) if dtypes.kind(typeof(x).dtype) in "fc"]
    vector, restore = ravel_pytree([leaves[i] for i in moving])
    fixed, size = [x for i, x in enumerate(leaves) if i not in moving], len(leaves)

    # The derivative rule of the solution below keeps this: it closes over no values.
    def slope(y, t, vector, fixed):
        still, moved = iter(fixed), iter(restore(vector))
        given = [next(moved if i in moving else still) for i in range(size)]
        return _on_vectors(func, unravel, y, t, tree.unflatten(structure, given))

    start, put = ravel_pytree((ys[0], g[0], rnp.zeros_like(vector)))

    def backwards(state, minus_t, vector, *fixed):
        """The equation, its adjoint and what the parameters gather, in time that runs backwards."""
        y, adjoint, _ = put(state)
        value, pull = rb.vjp(lambda y, v: slope(y, -minus_t, v, fixed), y, vector)
        to_state, to_vector = pull(adjoint)
        return ravel_pytree((-value, to_state, to_vector))[0].astype(state.dtype)

    def interval(carried, i):
        adjoint, gathered = carried
        adjoint = adjoint + g[i]
        state = ravel_pytree((ys[i], adjoint, gathered))[0].astype(start.dtype)
        # By the function whose derivative this is: so there is a second one in reverse, too.
        between = rnp.stack([-ts[i], -ts[i - 1]])
        state = _solved(backwards, _itself, limits, state, between, ((vector, *fixed), ()))[1]
        _, before, gathered = put(state)
        to_time = rnp.real(rnp.sum(g[i] * slope(ys[i], ts[i], vector, fixed)))
        return (before, gathered), to_time.astype(ts.dtype)

    count = ts.shape[0]
    zero = rnp.zeros_like(ys[0]), rnp.zeros_like(vector)
    (adjoint, gathered), to_times = lax.scan(interval, zero, rnp.arange(count - 1, 0, -1))
    to_first = -rnp.real(rnp.sum(adjoint * slope(ys[0], ts[0], vector, fixed))).astype(ts.dtype)
    to_ts = rnp.concatenate([to_first[None], to_times[::-1]])
    grads = [None] * len(leaves)
    for i, x in zip(moving, restore(gathered)):
        grads[i] = x
    grads = [
        rb.custom_derivatives.zero_from_primal(x) if one is None else one for x, one in zip(leaves, grads)
    ]
    return adjoint + g[0], to_ts, tree.unflatten(structure, grads)


_solved.defvjp(_solved_forward, _solved_backward)
