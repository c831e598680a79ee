"""Named axes: which names are bound where a function runs, to what sizes, and which programs use them.

An interpreter that maps a function along an axis may give the axis a name (``Interpreter.bound``). While
its function runs, also while a part of it is staged, the name stands in ``context.axes``, so that
collectives know the axis's size. A staged program keeps the name in its equations; the interpreter that
bound it gives them their meaning when the program is interpreted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rabbet.program.context import context
from rabbet.program.jaxpr import bodies_of

if TYPE_CHECKING:
    from rabbet.program.jaxpr import Jaxpr
    from rabbet.rules.operator import Op


def bound_axes() -> tuple[tuple[int | str, ...], ...]:
    """The axes bound here: ``((name, size), ...)``, hashable, outermost first.

    Example:
      >>> from rabbet.extend.transform import bind_axes, bound_axes
      >>> with bind_axes([("i", 4)]):
      ...     print(bound_axes())
      (('i', 4),)
    """
    return context.axes


def with_more(
    axes: tuple[tuple[int | str, ...], ...], more: tuple[tuple[int | str, ...], ...]
) -> tuple[tuple[int | str, ...], ...]:
    """``axes`` with further ones inside; one of the same name hides the outer one."""
    if all(pair in axes for pair in more):
        return axes
    names = {name for name, _ in more}
    return (*[pair for pair in axes if pair[0] not in names], *more)


@contextlib.contextmanager
def bind_axes(more: list[tuple[int | str, ...]] | tuple[Any, ...]) -> Iterator[Any]:
    """Within the ``with`` block the axes ``((name, size), ...)`` are bound: for tracing only, since nobody
    gives them a meaning.

    Example:
      >>> from rabbet.extend.transform import bind_axes, bound_axes
      >>> with bind_axes([("i", 4)]), bind_axes([("j", 2)]):
      ...     bound_axes()
      (('i', 4), ('j', 2))
    """
    previous = context.axes
    context.axes = with_more(previous, tuple(more))
    try:
        yield
    finally:
        context.axes = previous


def is_collective(op: Op) -> Any:
    """Whether an operator itself communicates along a named axis (see ``Primitive.axis``)."""
    return op.primitive.axis is not None


def names_of(op: Op) -> tuple[str, ...]:
    """The names of the axes along which an operator itself communicates: several are a tuple in its
    parameter, and together one axis.
    """
    names = op.params[op.primitive.axis]
    return names if type(names) is tuple else (names,)


def used_by(op: Op) -> Any:
    """The names of the axes along which an operator, or a program that it carries, communicates."""
    if op.primitive.axis is not None:
        return frozenset(names_of(op))
    if not op.primitive.special:
        return NONE
    found = frozenset().union(*[axes_used_in(body) for _, body in bodies_of(op)])
    return found if op.primitive.binds is None else found - frozenset(op.params[op.primitive.binds])


NONE = frozenset()


def axes_used_in(jaxpr: Jaxpr) -> frozenset[Any]:
    """The names of the axes along which a program communicates; found once.

    Example:
      >>> from rabbet.extend.passes import stage
      >>> from rabbet.extend.transform import axes_used_in
      >>> sorted(axes_used_in(stage(lambda x: [lax.neg(x)], [rb.typeof(1.0)]).jaxpr))
      []
    """
    return jaxpr.once("axis names", lambda: frozenset().union(*[used_by(e.op) for e in jaxpr.equations]))


__all__ = ["axes_used_in", "bind_axes", "bound_axes", "is_collective", "names_of", "used_by", "with_more"]
