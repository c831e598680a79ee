"""Functions of pytrees staged as the bodies of branches and loops."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from rabbet import dtypes, tree
from rabbet.lax.array_types import DTypeLike
from rabbet.lax.values import convert_element_type
from rabbet.messages.argument_names import parameter_name
from rabbet.messages.function_names import LEAF_NAMES, named_like
from rabbet.program import python_scalars
from rabbet.program.avals import ShapedArray
from rabbet.program.jaxpr import consts_as_inputs, evaluate
from rabbet.runtime.arrays.values import array_or_tracer
from rabbet.trace.interpreter import typeof
from rabbet.trace.staging import stage
from rabbet.tree import keystr


class Body:
    """A function of pytrees staged for given types: its program, what it captured, the structure of its
    result.

    Example:
      >>> from rabbet.extend.bodies import Body
      >>> leaves, in_tree = rb.tree.flatten((1.0,))
      >>> body = Body(lambda x: {"twice": x * 2.0}, in_tree, [rb.typeof(x) for x in leaves])
      >>> [eqn.primitive for eqn in body.program.equations], body.named_out(0)
      ([mul], "the output['twice']")
    """

    def __init__(
        self, fun: Callable, in_tree: tree.PyTreeDef, avals: Sequence[ShapedArray], takes_cells: bool = False,
    ) -> None:  # fmt: skip
        self.fun = fun
        self.out_tree: Any = None
        # The cells from outside that it uses (see ``rabbet.trace.cells``).
        self.touched: list = []
        self._held: dict = {}

        def flat(*leaves: Any) -> list:
            result = fun(*tree.unflatten(in_tree, list(leaves)))
            outs, self.out_tree = tree.flatten(result)
            return [array_or_tracer(x) for x in outs]

        touched = self.touched if takes_cells else None
        named = named_like(flat, fun, positional_names(fun, in_tree))
        closed = stage(named, avals, getattr(fun, "__name__", "body"), touched)
        self.program, self.consts = consts_as_inputs(closed), list(closed.consts)
        out_tree: Any = self.out_tree
        self.out_avals = self.program.out_avals[: out_tree.num_leaves]

    def held(self, key: Any, make: Callable) -> Any:
        """``make()``, made once for this body and ``key``: its operator, on which what was compiled lives."""
        if key not in self._held:
            self._held[key] = make()
        return self._held[key]

    def again(self, fun: Any) -> Body:
        """This body as that of ``fun``, to which it is the same."""
        other = copy.copy(self)
        other.fun = fun
        return other

    def named_out(self, i: int) -> str:
        """How output leaf number ``i`` is called in a message."""
        return f"the output{keystr(tree.leaf_path(self.out_tree, i))}"


def positional_names(fun: Any, in_tree: Any) -> Callable[[int], str] | None:
    """What messages call leaf number ``i`` of positional arguments of the structure ``in_tree``; None for a
    wrapper of which it is not known.
    """
    if LEAF_NAMES in getattr(fun, "__dict__", ()):  # its arguments are not those of what it wraps
        return None

    def name_of(i: int) -> str:
        which, *rest = tree.leaf_path(in_tree, i)
        return f"argument {parameter_name(fun, which.idx)}{''.join(map(str, rest))}"

    return name_of


def flat_operands(values: Any) -> tuple[list, tree.PyTreeDef]:
    leaves, treedef = tree.flatten(values)
    # Python numbers stay: in a program they are literals, whose value the compiler knows.
    return [x if python_scalars.is_python_scalar(x) else array_or_tracer(x) for x in leaves], treedef


def scalar_type(who: str, value: Any, kinds: str, wanted: Any) -> ShapedArray:
    """The type of ``value``, or an error unless it is a scalar of one of the dtype kinds."""
    try:
        aval = typeof(value)
    except TypeError:
        raise TypeError(f"{who} must be {wanted}, got {type(value).__name__} {value!r:.60}") from None
    if aval.shape or dtypes.kind(aval.dtype) not in kinds:
        raise TypeError(f"{who} must be {wanted}, got {aval.str_short()}")
    return aval


def convert_output(body: Body, i: int, dtype: DTypeLike) -> None:
    program = body.program

    def converted(*args: Any) -> list:
        outs = evaluate(program, args)
        outs[i] = convert_element_type(outs[i], dtype)
        return outs

    make = lambda: stage(converted, program.in_avals, program.name).jaxpr
    body.program = program.once(("output converted", i, dtype), make)
    body.out_avals = body.program.out_avals


__all__ = ["Body", "convert_output", "flat_operands", "scalar_type"]
