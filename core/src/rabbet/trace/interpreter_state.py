"""What must hold of the state of an interpreter in a body: it is not lost there, and keeps its types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rabbet import tree
from rabbet.program.value_types import typeof

if TYPE_CHECKING:
    from rabbet.program.avals import ShapedArray
    from rabbet.trace.interpreter import Interpreter


def of(interpreter: Interpreter) -> Any:
    """The state of an interpreter, or None where it has none."""
    return getattr(interpreter, "state", None)


def refuse_lost(interpreter: Interpreter, before: Any) -> None:
    """Refuse a state that was written within a body by an interpreter that does not thread it: the body runs
    under a copy, whose state nobody reads.

    Args:
      before: the state with which the copy began.
    """
    if not interpreter.threads and of(interpreter) is not before:
        raise TypeError(
            f"{interpreter.describe()} changed its state within a branch, a loop or a call, where it would "
            f"be lost\n  to fix: threads = True in the class {type(interpreter).__name__}; then the state "
            "goes through programs within programs like a value"
        )


def refuse_other_types(interpreter: Interpreter, structure: Any, avals: list[ShapedArray]) -> None:
    """Refuse a state whose leaves come out of a body with other types than they went in.

    Args:
      structure: the tree of the state that went in.
      avals: the types of its leaves.
    """
    leaves, after = tree.flatten(interpreter.state)
    if after != structure:
        return  # the interpreter's join_state says what covers both
    for i, (leaf, wanted) in enumerate(zip(leaves, avals, strict=True)):
        have = typeof(leaf)
        if (have.shape, have.dtype) != (wanted.shape, wanted.dtype):
            path = tree.leaf_path(structure, i)
            name = f"the leaf {tree.keystr(path)} of the state" if path else "the state"
            raise TypeError(
                f"{interpreter.describe()}: {name} is {wanted.str_short()} before a branch, a loop or a call "
                f"and {have.str_short()} at its end\n  to fix: a state keeps shapes and dtypes; convert what "
                f"is written into it, as in value.astype({wanted.dtype.name!r})"
            )
