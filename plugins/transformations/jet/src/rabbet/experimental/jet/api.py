"""The public function: arguments and pytrees around the interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import Any

from rabbet import dtypes, lax, tree
from rabbet.experimental.jet import recurrences, rules_by_kind, rules_from_derivatives  # noqa: F401  (they hold the table's rules)
from rabbet.experimental.jet.interpreter import Jet, Taylor, terms_of
from rabbet.experimental.jet.recurrences import scaled
from rabbet.extend.functions import (
    array_or_tracer,
    convert_leaves,
    describe_function,
    describe_value,
    folded,
    named_like,
    parameter_name,
    with_weak_type,
)
from rabbet.extend.primitive import full_of_type, tangent_aval
from rabbet.extend.transform import payload_of, run_traced, typeof
from rabbet.extend.wrapping import check_in_the_end
from rabbet.tree import keystr, leaf_path


def jet(
    fun: Callable, primals: Sequence[Any], series: Sequence[Any], factorial_scaled: bool = True,
) -> tuple[Any, Any]:  # fmt: skip
    """The derivatives of ``fun`` along a curve, up to any order (Taylor mode).

    Args:
      fun: a function of ``len(primals)`` positional arguments, pytrees of arrays, that returns a pytree of
        arrays.
      primals: a tuple or list of arguments, where the curve is at time 0.
      series: for each argument the further derivatives of the curve with respect to time, at time 0: a list
        or tuple of arrays like the argument. Where an argument is a pytree, such a list stands in the place
        of each of its arrays. All lists have one length, the order; the terms of integers have the dtype
        float0.
      factorial_scaled: whether the terms are derivatives. If False, they are the coefficients of the Taylor
        polynomials, which are smaller by the factorial of their order.

    Returns:
      ``(out, out_series)``: what ``fun`` returns, and in the place of each of its arrays the list of terms.

    Raises:
      TypeError, ValueError: for series that do not fit the arguments; the message names the argument.

    Example:
      >>> value, (first, second) = jet(rnp.square, (3.0,), ([1.0, 0.0],))  # 9, 6 and 2
    """
    if not callable(fun):
        raise TypeError(f"jet takes a function, got {describe_value(fun)}")
    for name, given in (("primals", primals), ("series", series)):
        if not isinstance(given, (tuple, list)):
            raise TypeError(
                f"jet of {describe_function(fun)}: {name} must be a tuple or list with one entry for each "
                f"argument, got {describe_value(given)}"
            )
    if len(primals) != len(series):
        raise ValueError(
            f"jet of {describe_function(fun)}: primals and series must have one entry for each argument, got "
            f"{len(primals)} primals and {len(series)} series"
        )
    return pushed_through(fun, tuple(primals), tuple(series), factorial_scaled)


@folded
def pushed_through(fun, primals, series, factorial_scaled):
    """``jet`` after a look at its arguments."""
    leaves, treedef = tree.flatten(primals)
    leaves = convert_leaves(
        array_or_tracer, leaves, lambda i, x: f"{place(fun, treedef, i)} is not an array: {describe_value(x)}"
    )
    lists = lists_of_terms(fun, primals, treedef, series)
    moving: list = []
    order = None
    for i, (x, terms) in enumerate(zip(leaves, lists, strict=True)):
        terms = terms_like(x, terms, place(fun, treedef, i))
        order = len(terms) if order is None else order
        if len(terms) != order:
            first = place(fun, treedef, 0).partition(": ")[2]
            raise ValueError(
                f"{place(fun, treedef, i)}: all series must have one length, the order; this one has "
                f"{len(terms)} terms, that of {first} has {order}"
            )
        if terms and is_inexact(x):
            moving.append(Taylor(x, tuple(rescaled(terms, factorial_scaled, inverse=True))))
        else:
            moving.append(None)
    out_tree = None

    def on_moving(*tracers):
        nonlocal out_tree
        each = iter(tracers)
        flat = [x if m is None else next(each) for x, m in zip(leaves, moving, strict=True)]
        outs, out_tree = tree.flatten(fun(*tree.unflatten(treedef, flat)))
        return convert_leaves(array_or_tracer, outs, lambda i, x: not_returned(fun, out_tree, i, x))

    interpreter = Jet()
    outs = run_traced(interpreter, named_like(on_moving, fun), [m for m in moving if m is not None])
    taylors = [payload_of(interpreter, x) for x in outs]
    check_in_the_end([y.terms for y in taylors])
    shown_terms = [as_given(y, order or 0, factorial_scaled) for y in taylors]
    return tree.unflatten(out_tree, [y.primal for y in taylors]), tree.unflatten(out_tree, shown_terms)


def place(fun, treedef, index):
    """How messages call the array number ``index`` of the arguments."""
    which, *rest = leaf_path(treedef, index)
    return f"jet of {describe_function(fun)}: argument {parameter_name(fun, which.idx)}{keystr(tuple(rest))}"


def not_returned(fun, out_tree, index, x):
    """What to say of an output that is not an array."""
    path = leaf_path(out_tree, index)
    where = f" at {keystr(path)}" if path else ""
    return (
        f"jet of {describe_function(fun)}: the function must return arrays, it returned a leaf{where} "
        f"of type {describe_value(x)}"
    )


def lists_of_terms(fun, primals, treedef, series):
    """The list of terms for each array of the arguments."""
    try:
        return treedef.flatten_up_to(series)
    except ValueError:
        raise TypeError(
            f"jet of {describe_function(fun)}: series must have the structure of primals with a list of "
            f"terms in the place of each array; the primals are {tree.structure(primals)}, the series "
            f"{tree.structure(series)}"
        ) from None


def terms_like(x, terms, who):
    """The terms of one array, checked."""
    if not isinstance(terms, (tuple, list)):
        raise TypeError(f"{who}: its series must be a list or tuple of terms, got {describe_value(terms)}")
    wanted = tangent_aval(typeof(x))
    return [term_like(t, wanted, f"{who}: term {k}") for k, t in enumerate(terms, 1)]


def term_like(t, wanted, who):
    """One term, checked: an array of the type ``wanted``, or a number for a scalar."""
    if getattr(t, "dtype", None) != dtypes.float0:
        (t,) = convert_leaves(
            array_or_tracer, [t], lambda _, t: f"{who} is not an array: {describe_value(t)}"
        )
    have = typeof(t)
    if have.shape != wanted.shape:
        raise ValueError(f"{who} must have the type {wanted.str_short()}, got {have.str_short()}")
    if have.dtype == wanted.dtype:
        return t
    if have.weak_type and wanted.dtype != dtypes.float0:
        return lax.convert_element_type(t, wanted.dtype)
    raise TypeError(
        f"{who} must have the type {wanted.str_short()}, got {have.str_short()}"
        + ("; an integer does not move" if wanted.dtype == dtypes.float0 else "")
    )


def is_inexact(x):
    """Whether an array has coefficients."""
    return dtypes.issubdtype(typeof(x).dtype, dtypes.inexact)


def rescaled(terms, factorial_scaled, inverse=False):
    """Coefficients as derivatives; with ``inverse`` derivatives as coefficients."""
    if not factorial_scaled:
        return list(terms)
    factors = [factorial(k) for k in range(1, len(terms) + 1)]
    return [scaled(t, 1 / f if inverse else f) for t, f in zip(terms, factors, strict=True)]


def as_given(y, order, factorial_scaled):
    """The terms of an output as users see them: weak where the output is, float0 for integers."""
    aval = typeof(y.primal)
    if not is_inexact(y.primal):
        return [full_of_type(tangent_aval(aval), 0)] * order
    terms = rescaled(y.terms, factorial_scaled) if y.terms else terms_of(y, order)
    return [with_weak_type(array_or_tracer(t), aval.weak_type) for t in terms]
