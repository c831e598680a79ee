"""Dimensions and shapes from texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import rabbet as rb
from rabbet import tree
from rabbet.export.symbolic.bounds import bounds
from rabbet.export.symbolic.expressions import Dimension, is_whole
from rabbet.export.symbolic.reading import Reader
from rabbet.export.symbolic.scopes import SymbolicScope


def is_symbolic_dim(p: Any) -> bool:
    """Whether a dimension is symbolic, and no int.

    Example:
      >>> from rabbet import export
      >>> [export.is_symbolic_dim(d) for d in export.symbolic_shape("n, 3")]
      [True, False]
    """
    return isinstance(p, Dimension)


def symbolic_dim_bounds(dimension: Any) -> tuple[float, float]:
    """Between which numbers a dimension lies, as far as is known; both ends included.

    Raises:
      TypeError: for what is not a dimension.

    Example:
      >>> from rabbet import export
      >>> a, b = export.symbolic_shape("a, b", constraints=["a <= 8"])
      >>> [export.symbolic_dim_bounds(d) for d in (a % 3, a + b, 2 * a)]
      [(0, 2), (2, inf), (2, 16)]
    """
    if not (isinstance(dimension, Dimension) or is_whole(dimension)):
        raise TypeError(f"symbolic_dim_bounds takes a dimension, got {type(dimension).__name__}")
    return bounds(dimension)


def symbolic_shape(
    shape_spec: str | None,
    *,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
    like: Sequence[int | None] | None = None,
) -> tuple[Any, ...]:
    """A shape of which some dimensions are expressions over sizes that are known when a program is called.

    Args:
      shape_spec: dimensions with commas between: numbers, names, ``+``, ``-``, ``*``, ``//``, ``%``, ``^``,
        ``floordiv``, ``mod``, ``max``, ``min``. ``_`` is the dimension of ``like`` at that place; ``...``,
        at the end, is all that are left; None is ``"..."``.
      constraints: what holds of the sizes, see ``SymbolicScope``. Every size is at least 1.
      scope: of which the sizes are, by default a new one; not together with constraints.
      like: a shape for the placeholders.

    Returns:
      a tuple of ints and symbolic dimensions.

    Raises:
      ValueError: for a text that is no shape.

    Example:
      >>> from rabbet import export
      >>> b, n = export.symbolic_shape("b, 2*b + 1")
      >>> n - b, (2 * b + 4) // 2, n >= 3
      (b + 1, b + 2, True)
      >>> double = export.export(rb.jit(lambda x: 2 * x))(rb.ShapeDtypeStruct((b, 3), "float32"))
      >>> double.in_avals, double.call(rnp.ones((5, 3))).shape
      ((ShapedArray(float32[b,3]),), (5, 3))
    """
    if scope is None:
        scope = SymbolicScope(constraints)
    elif constraints:
        raise ValueError(
            "symbolic_shape: constraints belong to a scope when it is made; give scope or constraints"
        )
    reader = Reader("..." if shape_spec is None else shape_spec, scope)
    like = None if like is None else tuple(like)
    parenthesized = reader.at("(") and reader.closes_at_end()
    if parenthesized:
        reader.take("(")
    dims: list[Any] = []
    while not reader.done() and not (parenthesized and reader.at(")")):
        if reader.at("..."):
            reader.take("...")
            if like is None or len(like) < len(dims):
                raise ValueError(
                    f"the shape {reader.text!r} has '...' for the other dimensions of `like`, which is {like}"
                )
            dims += [_like(reader, like, i) for i in range(len(dims), len(like))]
            if reader.at(","):
                raise reader.error("its end, after '...',")
        elif reader.at("_"):
            reader.take("_")
            dims.append(_like(reader, like, len(dims)))
        else:
            try:
                dims.append(reader.sum())
            except RecursionError:
                raise ValueError(f"the shape {reader.text!r:.40} is nested too deeply") from None
        if not reader.at(","):
            break
        reader.take(",")
    if parenthesized:
        reader.take(")")
    if not reader.done():
        raise reader.error("a comma or an operator")
    for i, (dim, known) in enumerate(zip(dims, like or (), strict=False)):
        if isinstance(dim, int) and isinstance(known, int) and dim != known:
            raise ValueError(
                f"the shape {reader.text!r} has {dim} for dimension {i}, which is {known} in `like`, {like}"
            )
    return tuple(dims)


def _like(reader, like, place):
    if like is None or place >= len(like) or like[place] is None:
        raise ValueError(
            f"the shape {reader.text!r} has a placeholder for dimension {place}, and there is no `like` "
            "shape to take it from"
        )
    return like[place]


def symbolic_args_specs(
    args: Any,
    shapes_specs: Any,
    constraints: Sequence[str] = (),
    scope: SymbolicScope | None = None,
) -> Any:
    """Argument types for ``export`` with symbolic dimensions, from arrays or types and texts.

    Args:
      args: a pytree of arrays, or of what has a shape and a dtype.
      shapes_specs: a prefix of it with a text for each array, see ``symbolic_shape``; None where a shape is
        as it is. One text goes for all.
      constraints, scope: as for ``symbolic_shape``, for all together.

    Returns:
      ``args`` with a ``ShapeDtypeStruct`` for each array.

    Example:
      >>> from rabbet import export
      >>> export.symbolic_args_specs((rnp.ones((2, 3)), rnp.ones(3)), ("b, ...", None))[0]
      ShapeDtypeStruct(shape=(b, 3), dtype=float32)
    """
    if scope is None:
        scope = SymbolicScope(constraints)
    elif constraints:
        raise ValueError("symbolic_args_specs: constraints belong to a scope; give one of them")
    leaves, structure = tree.flatten(args)
    given = tree.broadcast_prefix(shapes_specs, args, is_leaf=lambda x: x is None)
    found = []
    for leaf, spec in zip(leaves, given, strict=True):
        if spec is not None and not isinstance(spec, str):
            raise TypeError(
                f"symbolic_args_specs: a shape is given by a text, as in 'b, ...', or None, got {spec!r:.80}"
            )
        aval = leaf if hasattr(leaf, "shape") and hasattr(leaf, "dtype") else rb.typeof(leaf)
        shape = symbolic_shape(spec, scope=scope, like=aval.shape)
        found.append(rb.ShapeDtypeStruct(shape, aval.dtype))
    return tree.unflatten(structure, found)


__all__ = [
    "is_symbolic_dim", "symbolic_args_specs", "symbolic_dim_bounds",
    "symbolic_shape",
]  # fmt: skip
