"""``custom_vmap``: functions that say themselves how they are mapped."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import tree
from rabbet.extend.functions import array_or_tracer, describe_function, folded, named_like
from rabbet.extend.primitive import Batched
from rabbet.extend.transform import typeof
from rabbet_custom_rules import RuledFunction

from rabbet_vmap.batch_rules import BATCH, BatchRule
from rabbet_vmap.mapping import map

if TYPE_CHECKING:
    from rabbet.typing import Value

__all__ = ["custom_vmap", "sequential_vmap"]


@folded
class custom_vmap(RuledFunction):
    """Decorator: a function with a rule for ``vmap``.

    Forward-mode differentiation of the function is mapped by the derivative of the rule. Reverse mode goes
    through the function.

    Args:
      fun: takes arguments by position and returns a pytree of arrays.

    Example:
      >>> @custom_vmap
      ... def dot(x, y):
      ...     return rnp.sum(x * y)
      >>> @dot.def_vmap
      ... def dot_vmap(axis_size, in_batched, x, y):
      ...     x_batched, y_batched = in_batched
      ...     if x_batched and not y_batched:
      ...         return x @ y, True
      ...     return rb.vmap(dot.fun, [0 if b else None for b in in_batched])(x, y), True
    """

    def __init__(self, fun: Callable[..., Any] | int) -> None:
        super().__init__(fun)
        self.vmap_rule = None

    def def_vmap(self, vmap_rule: Any) -> Callable[..., Any]:
        """Set the rule ``(axis_size, in_batched, *args) -> (out, out_batched)``; return it.

        ``in_batched`` and ``out_batched`` have the structures of the arguments and of the result, with a bool
        for each array (``out_batched`` may be a prefix): whether it has the mapped dimension, which is then
        the first. The function itself does not run: the structure of the result is compared with the
        function's where that is known, as under ``rb.jit``.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    def has_rule(self) -> bool:
        return self.vmap_rule is not None

    def refuse_without_rule(self) -> Any:
        raise AttributeError(
            f"{describe_function(self.fun)} was declared with custom_vmap and has no rule yet; call its "
            "def_vmap first"
        )

    def rules(self, call: Any) -> dict[Any, Any]:
        return {BATCH: BatchRule(functools.partial(self._map, call))}

    def _map(self, call: Any, interpreter: Any, payloads: Any) -> list[Batched]:
        size = interpreter.size
        values = [p.value if p.axis is None else interpreter.at_axis(p, 0) for p in payloads]
        batched = tree.unflatten(call.in_tree, [p.axis is not None for p in payloads])
        name = f"the vmap rule of {describe_function(self.fun)}"
        result = self.vmap_rule(size, list(batched), *call.arguments(values))
        if not (isinstance(result, (tuple, list)) and len(result) == 2):
            raise TypeError(
                f"{name} must return a pair (out, out_batched), it returned {type(result).__name__}"
            )
        outs = [array_or_tracer(x) for x in call.result(result[0], name)]
        try:
            flags = tree.broadcast_prefix(result[1], tree.unflatten(call.out_tree, outs))
        except ValueError as error:
            raise ValueError(
                f"{name}: out_batched does not fit the structure of the output. {error}"
            ) from None
        for x, flag in zip(outs, flags, strict=True):
            if flag and typeof(x).shape[:1] != (size,):
                raise ValueError(
                    f"{name} returned an output of type {typeof(x).str_short()} as batched; its first "
                    f"dimension must be the mapped one, of size {size}"
                )
        return [Batched(x, 0 if flag else None) for x, flag in zip(outs, flags, strict=True)]


@folded
def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """Decorator: ``vmap`` of this function runs it for one example after the other (``lax.map``).

    Example:
      >>> @rb.custom_batching.sequential_vmap
      ... def double(x):
      ...     return x * 2
      >>> rb.vmap(double)(rnp.arange(3.0))
      Array([0., 2., 4.], dtype=float32)
    """
    mapped = custom_vmap(f)

    @mapped.def_vmap
    def one_after_the_other(
        axis_size: int, in_batched: list[bool | dict[Any, Any]], *args: Value | dict[Any, Any]
    ) -> tuple[tuple[Value, ...] | Value, ...]:
        leaves, treedef = tree.flatten(args)
        flags = tree.leaves(in_batched)
        moving = [x for x, b in zip(leaves, flags, strict=True) if b]

        def one(slices: list[Value]) -> tuple[Value, ...] | Value:
            given = iter(slices)
            return f(
                *tree.unflatten(
                    treedef, [next(given) if b else x for x, b in zip(leaves, flags, strict=True)]
                )
            )

        return map(named_like(one, f), moving), True

    return mapped
