"""Branches inside programs: cond, switch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rabbet import dtypes, tree
from rabbet.config import config
from rabbet.errors import ShardingError
from rabbet.lax.array_types import ArrayLike
from rabbet.lax.staged_functions import convert_output, flat_operands, scalar_type
from rabbet.lax.traced_body_cache import body_of
from rabbet.lax.values import convert_element_type
from rabbet.messages.function_names import describe_function, named_like
from rabbet.passes.dead_code import eliminate_dead_code
from rabbet.primitives import branches as _branches
from rabbet.primitives import extremes, logic, zeros
from rabbet.program.jaxpr import Jaxpr, Var, evaluate
from rabbet.program.sharded_types import joined_over
from rabbet.runtime.arrays.array import Array
from rabbet.runtime.arrays.values import array_or_tracer
from rabbet.trace.cells import Cell, Threading
from rabbet.trace.interpreter import typeof
from rabbet.trace.staging import stage
from rabbet.trace.tracer import is_tracer
from rabbet.tree.tree_errors import parting

NOT_GIVEN = object()


def _same_outputs(what: str, first: Any, other: Any) -> None:
    """Refuse branches that return different structures, shapes or dtypes."""
    if first.out_tree != other.out_tree:
        place, one, two = parting(first.out_tree, other.out_tree, "the output")
        raise TypeError(
            f"{what} branch outputs must have the same pytree structure; at {place}, "
            f"{describe_function(first.fun)} returns {one}, {describe_function(other.fun)} returns {two}"
        )
    for i, (a, b) in enumerate(zip(first.out_avals, other.out_avals, strict=True)):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            repair = f"convert one of them with .astype('{a.dtype}')" if a.shape == b.shape else (
                "bring them to one shape, as with rabbet.numpy.broadcast_to"
            )  # fmt: skip
            raise TypeError(
                f"{what}: all branches must return the same types; {first.named_out(i)} is "
                f"{a.str_short()} in "
                f"{describe_function(first.fun)} and {b.str_short()} in {describe_function(other.fun)}"
                f"\n  to fix: {repair}"
            )
        try:
            joined_over(a.spread, b.spread)
        except ShardingError:
            raise TypeError(
                f"{what}: all branches must return the same types; {first.named_out(i)} is "
                f"{a.str_short()} in {describe_function(first.fun)} and {b.str_short()} in "
                f"{describe_function(other.fun)}"
                "\n  to fix: lay one of them out as the other, rb.reshard(x, P(...))"
            ) from None


def _joined_weak_types(bodies: Any) -> None:
    """Promote weakly typed outputs that another branch returns with a strong type."""
    for i in range(len(bodies[0].out_avals)):
        avals = [b.out_avals[i] for b in bodies]
        if len({(a.shape, a.dtype) for a in avals}) == 1 or not any(a.weak_type for a in avals):
            continue
        if all(a.weak_type for a in avals):
            continue  # an int here and a float there are a slip
        dtype, _ = dtypes.promote(*avals)
        for b, a in zip(bodies, avals, strict=True):
            if a.weak_type and a.dtype != dtype:
                convert_output(b, i, dtype)


def switch(index: Any, branches: Sequence[Callable], *operands: Any, operand: Any = NOT_GIVEN) -> Any:
    """Run one of several functions, chosen by an integer.

    Args:
      index: an integer scalar, clamped to the branches there are.
      branches: a sequence of functions of ``operands`` that return pytrees of one structure and the same
        types.
      operands: pytrees of arrays.
      operand: one more operand, by name, which may be None.

    Returns:
      what the chosen function returns.

    Raises:
      TypeError: if the branches' results differ; the message names the leaf.

    Example:
      >>> lax.switch(1, [lambda x: x, lambda x: 2 * x, lambda x: 3 * x], 5.0)
      Array(10., dtype=float32, weak_type=True)
    """
    if operand is not NOT_GIVEN:
        operands = (*operands, operand)
    branches = list(branches)
    if not branches:
        raise ValueError("switch needs at least one branch")
    scalar_type("switch: the index", index, "iu", "an integer scalar")
    if len(branches) == 1:
        return branches[0](*operands)
    index = array_or_tracer(index)
    if not is_tracer(index) and (config.disable_jit):
        return branches[min(max(int(index), 0), len(branches) - 1)](*operands)
    index = extremes.clamp(np.int32(0), convert_element_type(index, np.int32), np.int32(len(branches) - 1))
    return branch("switch", index, branches, operands)


def branch(
    what: str, index: Any, functions: Sequence[Callable], operands: Sequence[Any], last_first: bool = False,
) -> Any:  # fmt: skip
    """The function number ``index`` (an int32 scalar in range, or a boolean for two) of several, on
    ``operands``; ``what`` for messages, in which the last function comes first where the user wrote it so.
    """
    functions, operands = _closed_over_cells(functions, operands)
    leaves, in_tree = flat_operands(operands)
    avals = [typeof(x) for x in leaves]
    # A function that stands there twice is staged once.
    once = {i: body_of(f, in_tree, avals, True) for i, f in {id(f): f for f in functions}.items()}
    made = list(once.values())
    if len(made) < len(functions):
        made = [once[id(f)].again(f) for f in functions]
    if len({b.out_tree for b in made}) == 1:
        _joined_weak_types(made)
    in_order = made[::-1] if last_first else made
    for other in in_order[1:]:
        _same_outputs(what, in_order[0], other)
    threading = Threading(*[b.touched for b in made])
    if threading:
        threaded = [
            named_like(lambda contents, *xs, f=f: threading.run(contents, f, *xs), f) for f in functions
        ]
        out, contents = branch(what, index, threaded, (threading.enter(), *operands), last_first)
        threading.leave(contents)
        return out
    held, own = made[0].held, [b.program for b in made]
    programs = held(tuple(own), lambda: _branches.share_consts(own, [len(b.consts) for b in made]))
    values = [*[c for b in made for c in b.consts], *leaves]
    if typeof(index).spread is not None:
        programs, values = decided_apart(typeof(index).spread, programs, values)
    if len({x.spec.device for x in values if type(x) is Array and x.spec.committed}) > 1:
        programs, values = _without_unread(programs, values)  # what no branch reads may lie elsewhere
    passed = _passed_through(programs, values)
    if passed:
        programs = [
            p.once(("without", tuple(passed)), lambda p=p: _without_outputs(p, passed)) for p in programs
        ]
    needed = not passed or programs[0].outvars or any(p.effects for p in programs)
    chosen = tuple(programs)
    op = held(("cond", *chosen), lambda: _branches.cond.op(branches=chosen))
    rest = iter(op(index, *values) if needed else ())
    count = len(made[0].out_avals)
    return tree.unflatten(made[0].out_tree, [passed[i] if i in passed else next(rest) for i in range(count)])


def _without_unread(programs: Sequence[Any], values: Sequence[Any]) -> tuple:
    """Branches and their operands without operands that none of them reads."""

    def reads(program: Any) -> list[bool]:
        used = {v for eqn in program.equations for v in eqn.inputs if type(v) is Var}
        used.update([v for v in program.outvars if type(v) is Var])
        return [v in used for v in program.invars]

    read = [any(each) for each in zip(*[reads(p) for p in programs], strict=True)]
    if all(read):
        return programs, values
    kept = lambda items: [x for x, r in zip(items, read, strict=True) if r]
    less = [
        p.once(
            ("reading", tuple(read)),
            lambda p=p: Jaxpr(kept(p.invars), p.outvars, p.equations, p.constvars, p.effects, p.name),
        )
        for p in programs
    ]
    return less, kept(values)


def _passed_through(programs: Sequence[Any], values: Sequence[Any]) -> dict[int, Any]:
    """The outputs that are the same operand in every branch, by number. They do not depend on the index: what
    ``vmap`` was given once for all examples stays so, whatever decides.
    """
    operands = [dict(zip(p.invars, values, strict=True)) for p in programs]
    found = {}
    for i, outs in enumerate(zip(*[p.outvars for p in programs], strict=True)):
        sources = [known.get(v) if type(v) is Var else None for known, v in zip(operands, outs, strict=True)]
        if sources[0] is not None and all(x is sources[0] for x in sources):
            found[i] = array_or_tracer(sources[0])
    return found


def _without_outputs(program: Any, left_out: Any) -> Any:
    """A program without some of its outputs, and what only they needed."""
    outs = [v for i, v in enumerate(program.outvars) if i not in left_out]
    whole = Jaxpr(program.invars, outs, program.equations, program.constvars, program.effects, program.name)
    return eliminate_dead_code(whole)


def decided_apart(spread: Any, programs: Sequence[Any], values: Sequence[Any]) -> tuple:
    """Branches and their operands in types that cover that of the index: where devices take different
    branches, what brings values to a type must not stand within one.
    """
    covering = lambda aval: aval.update(spread=joined_over(aval.spread, spread))
    values = [zeros.fitted(x, covering(typeof(x))) for x in map(array_or_tracer, values)]
    avals = [typeof(x) for x in values]
    programs = [stage(lambda *xs, p=p: evaluate(p, xs), avals, p.name).jaxpr for p in programs]
    return programs, values


def _closed_over_cells(functions: Sequence[Callable], operands: Sequence[Any]) -> tuple:
    """Functions and operands without the cells among these, which the functions then get from outside."""
    leaves, in_tree = tree.flatten(operands)
    arrays = [x for x in leaves if not isinstance(x, Cell)]
    if len(arrays) == len(leaves):
        return functions, operands

    def of_arrays(f: Callable) -> Any:
        def closed(*values: Any) -> Any:
            mine = iter(values)
            return f(*tree.unflatten(in_tree, [x if isinstance(x, Cell) else next(mine) for x in leaves]))

        return named_like(closed, f)

    return [of_arrays(f) for f in functions], tuple(arrays)


def cond(
    pred: ArrayLike, true_fun: Callable, false_fun: Callable, *operands: Any, operand: Any = NOT_GIVEN,
) -> Any:  # fmt: skip
    """Run ``true_fun(*operands)`` or ``false_fun(*operands)``.

    Args:
      pred: a boolean (or integer) scalar.
      true_fun, false_fun: functions of ``operands`` that return pytrees of one structure and the same types.
      operands: pytrees of arrays.
      operand: one more operand, by name, which may be None.

    Returns:
      what the chosen function returns.

    Raises:
      TypeError: if ``pred`` is not a scalar, or the results differ; the message names the leaf.

    Example:
      >>> rb.jit(lambda x: lax.cond(x > 0, rnp.sqrt, lambda x: 0.0 * x, x))(4.0)
      Array(2., dtype=float32, weak_type=True)
    """
    if operand is not NOT_GIVEN:
        operands = (*operands, operand)
    if callable(false_fun) and not callable(true_fun) and len(operands) == 2 and callable(operands[1]):
        # As it was once called: cond(pred, true_operand, true_fun, false_operand, false_fun).
        when_true, when_false, operands = false_fun, operands[1], (true_fun, operands[0])
        true_fun, false_fun = lambda x, _: when_true(x), lambda _, x: when_false(x)
    if not callable(true_fun) or not callable(false_fun):
        raise TypeError(
            "cond takes a predicate and two functions: cond(pred, true_fun, false_fun, *operands)"
        )
    aval = scalar_type("cond: the predicate", pred, "biuf", "a boolean scalar")
    if config.disable_jit and not is_tracer(pred):
        return (true_fun if pred else false_fun)(*operands)
    if dtypes.kind(aval.dtype) != "b":
        pred = logic.ne(pred, 0)
    return branch("cond", pred, [false_fun, true_fun], operands, last_first=True)


__all__ = ["branch", "cond", "switch"]
