"""Whole matrices of derivatives: a derivative mapped over a basis by ``vmap``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import rabbet
from rabbet import tree
from rabbet.extend.functions import folded, to_array, with_weak_type
from rabbet.extend.transform import typeof
from rabbet.extend.wrapping import wraps

from rabbet_autodiff import checks
from rabbet_autodiff.api import jvp, vjp
from rabbet_autodiff.functions import of_chosen, values_at

if TYPE_CHECKING:
    from rabbet.typing import Value


def jacfwd(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    argnames: Any = None,
) -> Callable[..., Any]:
    """The Jacobian of ``fun`` column by column, in forward mode: good where there are fewer inputs than
    outputs.

    Args:
      fun: takes and returns pytrees of arrays; with ``has_aux`` returns a pair.
      argnums: which positional arguments, an int or a sequence.
      holomorphic: whether ``fun`` is complex differentiable.
      argnames: a name, or a sequence of names, instead of ``argnums``: arguments by keyword or by position.

    Returns:
      a function of the same arguments. For an output of shape ``s`` and an argument of shape ``t`` the
      Jacobian has the shape ``s + t``; it has the structure of the output, with the structure of the chosen
      arguments in place of each leaf.

    Example:
      >>> rb.jacfwd(lambda x: x**2)(rnp.array([1.0, 2.0]))
      Array([[2., 0.],
             [0., 4.]], dtype=float32)
    """

    checks.function("jacfwd", fun)
    single = checks.names_or_numbers("jacfwd", fun, argnums, argnames)
    chosen = argnums, argnames, single

    @wraps(fun)
    @folded
    def jacobian_of(*args: Value | dict[Any, Any], **kwargs: Any) -> Any:
        return _jacobian(fun, chosen, has_aux, holomorphic, args, kwargs, forward=True)

    return jacobian_of


def jacrev(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    *,
    argnames: Any = None,
) -> Callable[..., Any]:
    """The Jacobian of ``fun`` row by row, in reverse mode: good where there are fewer outputs than inputs.
    See ``jacfwd``.

    Example:
      >>> rb.jacrev(lambda x: x**2)(rnp.array([1.0, 2.0]))
      Array([[2., 0.],
             [0., 4.]], dtype=float32)
    """
    checks.function("jacrev", fun)
    single = checks.names_or_numbers("jacrev", fun, argnums, argnames)
    chosen = argnums, argnames, single

    @wraps(fun)
    @folded
    def jacobian_of(*args: Value | dict[Any, Any], **kwargs: Any) -> Any:
        return _jacobian(fun, chosen, has_aux, holomorphic, args, kwargs, forward=False, allow_int=allow_int)

    return jacobian_of


jacobian = jacrev


def hessian(
    fun: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    *,
    argnames: Any = None,
) -> Callable[..., Any]:
    """The matrix of second derivatives: ``jacfwd`` of ``jacrev``. See ``jacfwd`` for arguments and
    shapes.

    Example:
      >>> rb.hessian(lambda x: (x**3).sum())(rnp.array([1.0, 2.0]))
      Array([[ 6.,  0.],
             [ 0., 12.]], dtype=float32)
      >>> rb.hessian(lambda *, x: (x**3).sum(), argnames="x")(x=rnp.array([1.0])).tolist()
      [[6.0]]
    """
    checks.function("hessian", fun)
    more: dict[str, Any] = {"has_aux": has_aux, "holomorphic": holomorphic, "argnames": argnames}
    return jacfwd(jacrev(fun, argnums, **more), argnums, **more)


def _jacobian(
    fun: Callable[..., Any],
    asked: tuple[Any, Any, bool],
    has_aux: bool,
    holomorphic: bool,
    args: tuple[Value | dict[Any, Any], ...],
    kwargs: dict[Any, Any],
    *,
    forward: bool,
    allow_int: bool = False,
) -> Any:
    what = "jacfwd" if forward else "jacrev"
    argnums, argnames, single = asked
    numbers = checks.chosen_places(what, fun, argnums, argnames, args, kwargs)
    chosen = values_at(args, kwargs, numbers)
    leaves, in_tree = checks.differentiable_leaves(
        what, fun, chosen, numbers, holomorphic=holomorphic, allow_int=allow_int, real_only=forward
    )
    flat = of_chosen(fun, args, kwargs, numbers)
    aux = None
    if forward:
        weak = None

        def push(tangents: list[Value]) -> tuple[Any, ...]:
            nonlocal weak
            value, *pushed = jvp(
                flat, tree.unflatten(in_tree, leaves), tree.unflatten(in_tree, tangents), has_aux=has_aux
            )
            weak = tree.map(lambda y: typeof(y).weak_type, value)  # derivatives are as weakly typed
            return tuple(pushed)

        pushed = rabbet.vmap(push, out_axes=(-1, None) if has_aux else (-1,))(_basis(leaves))
        columns, aux = pushed if has_aux else (pushed[0], None)
        columns = tree.map(with_weak_type, columns, weak)
        out = tree.map(lambda c: _split(c, leaves, -1, in_tree, single), columns)
    else:
        result = vjp(flat, *tree.unflatten(in_tree, leaves), has_aux=has_aux)
        outs, out_tree = tree.flatten(result[0])
        checks.array_outputs(what, fun, outs, out_tree, holomorphic)
        aux = result[2] if has_aux else None
        rows = rabbet.vmap(lambda cts: result[1](tree.unflatten(out_tree, cts)))(_basis(outs))
        per_input = [_split_leading(row, outs) for row in tree.leaves(rows)]
        in_order = [tree.unflatten(in_tree, [parts[i] for parts in per_input]) for i in range(len(outs))]
        out = tree.unflatten(out_tree, [tr[0] if single else tr for tr in in_order])
    return (out, aux) if has_aux else out


def _basis(leaves: list[Value]) -> list[Value]:
    """For each leaf of n elements among N in all, its part of the N unit vectors: an array of shape (N,
    *shape).
    """
    avals = [typeof(x) for x in leaves]
    total, at, parts = sum(a.size for a in avals), 0, []
    for a in avals:
        part = np.zeros((total, a.size), a.dtype)
        part[at : at + a.size] = np.eye(a.size, dtype=a.dtype)
        parts.append(to_array(part.reshape((total, *a.shape)), dtype=a.dtype))  # 64 bits are kept
        at += a.size
    return parts


def _split(column: Value, leaves: list[Value], axis: int, in_tree: Any, single: bool) -> Any:
    """An output's derivatives along its last axis, cut by input leaf and given the inputs' shapes."""
    parts, at = [], 0
    for leaf in leaves:
        aval = typeof(leaf)
        piece = rabbet.lax.slice_in_dim(column, at, at + aval.size, axis=axis)
        parts.append(rabbet.lax.reshape(piece, (*column.shape[:-1], *aval.shape)))
        at += aval.size
    whole = tree.unflatten(in_tree, parts)
    return whole[0] if single else whole


def _split_leading(row: Value, outs: list[Value]) -> list[Value]:
    """An input's derivatives along the first axis, cut by output leaf and given the outputs' shapes."""
    parts, at = [], 0
    for out in outs:
        aval = typeof(out)
        piece = rabbet.lax.slice_in_dim(row, at, at + aval.size, axis=0)
        parts.append(rabbet.lax.reshape(piece, (*aval.shape, *row.shape[1:])))
        at += aval.size
    return parts
