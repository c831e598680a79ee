"""Loops inside programs: while_loop, fori_loop, scan."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from rabbet import dtypes, tree
from rabbet.config import config
from rabbet.errors import ConcretizationTypeError, DTypeError
from rabbet.lax import plugin_functions, shapes
from rabbet.lax.array_types import ArrayLike
from rabbet.lax.promotion import opened
from rabbet.lax.refusals import concrete
from rabbet.lax.staged_functions import Body, convert_output, flat_operands, scalar_type
from rabbet.lax.traced_body_cache import body_of, stands_for
from rabbet.lax.values import convert_element_type, with_weak_type
from rabbet.messages.function_names import describe_function, named_like
from rabbet.primitives import logic, loops, scans, zeros
from rabbet.program.avals import ShapeDtypeStruct
from rabbet.program.dimensions import flag, whole_number
from rabbet.program.sharded_types import joined_over
from rabbet.runtime.arrays.values import array_or_tracer
from rabbet.trace.cells import Cell, Threading
from rabbet.trace.interpreter import typeof
from rabbet.trace.tracer import is_tracer
from rabbet.tree import keystr
from rabbet.tree.tree_errors import in_words, parting


def stage_loop_body(
    what: str, fun: Callable, init: Any, in_tree: tree.PyTreeDef, extra: Any = (), takes_cells: bool = False,
) -> tuple[Body, list]:  # fmt: skip
    """The body staged for its carry, whose weak types give way to what the body returns; (body, carry
    leaves).

    Example:
      >>> from rabbet.extend.bodies import stage_loop_body
      >>> leaves, in_tree = rb.tree.flatten((1,))
      >>> body, leaves = stage_loop_body("my_loop", lambda x: x * np.float32(2), leaves, in_tree)
      >>> leaves
      [Array(1., dtype=float32)]
    """
    leaves = list(init)
    while True:
        body = body_of(fun, in_tree, [*[typeof(x) for x in leaves], *extra], takes_cells)
        changed = False
        for i, (x, out) in enumerate(zip(leaves, body.out_avals[: len(leaves)], strict=False)):
            aval = typeof(x)
            if aval.weak_type and out.dtype != aval.dtype and out.shape == aval.shape:
                promoted, weak = dtypes.promote(aval, out)
                if promoted != aval.dtype:
                    leaves[i], changed = with_weak_type(x, weak, promoted), True
            elif aval.weak_type and not out.weak_type and out.shape == aval.shape:
                leaves[i], changed = convert_element_type(x, aval.dtype), True
            elif out.spread is not aval.spread:
                together = joined_over(aval.spread, out.spread)
                if together is not aval.spread:
                    leaves[i] = zeros.fitted(x, aval.update(spread=together), entering=True)
                    # An array that cannot be laid out so stays as it is, and the types are refused as others.
                    changed = changed or typeof(leaves[i]).spread is not aval.spread
        if not changed:
            return body, leaves


def _check_carry(
    what: str, fun: Callable, body: Body, in_tree: tree.PyTreeDef, leaves: list, out_tree: tree.PyTreeDef,
) -> None:  # fmt: skip
    """Refuse a body that returns another structure or other types than it carries.

    ``fori_loop`` carries its user's value as the last one of a tuple.
    """
    inner = what == "fori_loop"
    if out_tree != in_tree:
        given, made = [t.children()[-1] if inner else t for t in (in_tree, out_tree)]
        place, taken, returned = parting(given, made, "the value" if inner else "carry")
        raise TypeError(
            f"{what}: {describe_function(fun)} must return the structure that it carries; at {place} it "
            f"takes {taken} and returns {returned}"
        )
    for i, (x, out) in enumerate(zip(leaves, body.out_avals, strict=False)):
        aval = typeof(x)
        if (aval.shape, aval.dtype) != (out.shape, out.dtype):
            path = tree.leaf_path(in_tree, i)
            kept = f"convert it with .astype('{aval.dtype}')" if aval.shape == out.shape else "keep its shape"
            raise TypeError(
                f"{what}: {describe_function(fun)} must return the types that it carries; "
                f"{f'the value{keystr(path[1:])}' if inner else f'carry{keystr(path)}'} goes in as "
                f"{aval.str_short()} and comes out as {out.str_short()}\n  to fix: start it as "
                f"{out.str_short()}, or {kept} in the function"
            )


def convert_weak_outputs(body: Body, leaves: list, count: int) -> None:
    """Convert the first ``count`` outputs of a body to the carries' dtypes, where only weak types differ.

    Example:
      >>> from rabbet.extend.bodies import Body, convert_weak_outputs
      >>> leaves, in_tree = rb.tree.flatten((np.float32(1),))
      >>> body = Body(lambda x: 2, in_tree, [rb.typeof(leaves[0])])
      >>> convert_weak_outputs(body, leaves, 1)
      >>> body.out_avals[0].str_short()
      'f32[]'
    """
    for i in range(min(count, len(body.out_avals))):  # of another structure: the caller says so
        out, aval = body.out_avals[i], typeof(leaves[i])
        if out.weak_type and out.dtype != aval.dtype and out.shape == aval.shape:
            promoted, _ = dtypes.promote(out, aval)
            if promoted == aval.dtype:
                convert_output(body, i, aval.dtype)


def while_loop(
    cond_fun: Callable, body_fun: Callable, init_val: Any, *, max_steps: int | None = None,
    checkpoints: int | None = None,
) -> Any:  # fmt: skip
    """Repeat ``val = body_fun(val)`` as long as ``cond_fun(val)``.

    Args:
      cond_fun: from the carried pytree to a boolean scalar.
      body_fun: from the carried pytree to one of the same structure and types.
      init_val: the first value, a pytree of arrays.
      max_steps: the loop ends after so many steps at the latest, and reverse mode goes through it, as
        ``lax.bounded_while_loop`` says.
      checkpoints: reverse mode goes through the loop, however long, and keeps so many of its states.

    Returns:
      the last value. Reverse mode cannot go through a loop whose length is not known unless ``max_steps`` or
      ``checkpoints`` is given.

    Example:
      >>> rb.jit(lambda x: lax.while_loop(lambda x: x < 100, lambda x: 2 * x, x))(3)
      Array(192, dtype=int32, weak_type=True)
    """
    if max_steps is not None or checkpoints is not None:
        few = plugin_functions.loops_keeping_few(f"while_loop of {describe_function(body_fun)}")
        return few.while_keeping_few(
            cond_fun, body_fun, init_val, max_steps=max_steps, checkpoints=checkpoints
        )
    return repeat("while_loop", cond_fun, body_fun, init_val)


def repeat(what: str, cond_fun: Callable, body_fun: Callable, init_val: Any) -> Any:
    """``while_loop``, by the name ``what`` in messages."""
    if config.disable_jit:
        init_val = tree.map(array_or_tracer, init_val)
        # A value that no Python loop can decide by, as under vmap, is left to the primitive from there on.
        while True:
            try:
                more = bool(cond_fun(init_val))
            except ConcretizationTypeError:
                break
            if not more:
                return init_val
            init_val = body_fun(init_val)
    return _repeat_staged(what, cond_fun, body_fun, init_val)


def _repeat_staged(what: str, cond_fun: Callable, body_fun: Callable, init_val: Any) -> Any:
    """``repeat`` by the primitive."""
    init, treedef = flat_operands(init_val)
    in_tree = tree.tuple_of([treedef])
    body, leaves = stage_loop_body(what, body_fun, init, in_tree, takes_cells=True)
    convert_weak_outputs(body, leaves, len(leaves))
    _check_carry(what, body_fun, body, treedef, leaves, body.out_tree)
    avals = [typeof(x) for x in leaves]
    test = body_of(cond_fun, in_tree, avals, True)
    out = test.out_avals[0] if test.out_tree == tree.structure(0) else None
    if out is None or out.shape or dtypes.kind(out.dtype) != "b":
        shown = in_words(test.out_tree) if out is None else out.str_short()
        raise TypeError(
            f"while_loop: {describe_function(cond_fun)} must return one boolean scalar, it returns {shown}"
        )
    threading = Threading(body.touched, test.touched)
    if threading:
        if any(t.written for t in test.touched):
            raise TypeError(f"while_loop: {describe_function(cond_fun)} writes to a Ref; only the body may")
        contents, val = _repeat_staged(
            what,
            named_like(lambda state: threading.run(state[0], cond_fun, state[1])[0], cond_fun),
            named_like(lambda state: threading.run(state[0], body_fun, state[1])[::-1], body_fun),
            (threading.enter(), init_val),
        )
        threading.leave(contents)
        return val
    make = lambda: loops.while_.op(
        cond_jaxpr=test.program, body_jaxpr=body.program, cond_consts=len(test.consts),
        body_consts=len(body.consts),
    )  # fmt: skip
    op = body.held((test.program, body.program), make)
    outs = op(*test.consts, *body.consts, *leaves)
    return tree.unflatten(treedef, handed_on(body, leaves, outs))


def handed_on(body: Any, leaves: Sequence[Any], outs: Sequence[Any]) -> list:
    """The results of a loop, in which what every round hands on as it was is the value that went in: it does
    not depend on the other values, and what ``vmap`` was given once for all examples stays so.
    """
    carried = body.program.invars[len(body.consts) :][: len(leaves)]
    same = [a is b for a, b in zip(carried, body.program.outvars, strict=False)]
    passed = [array_or_tracer(x) if s else out for x, s, out in zip(leaves, same, outs, strict=False)]
    return [*passed, *outs[len(leaves) :]]


def scan(
    f: Callable, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False,
    unroll: int | bool = 1, _split_transpose: bool = False, *, checkpoint_every: int | None = None,
    checkpoints: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """Run ``carry, y = f(carry, x)`` over the slices of ``xs`` along their first dimension.

    Args:
      f: from ``(carry, x)`` to ``(carry, y)``; the carry keeps its structure, shapes and dtypes.
      init: the first carry, a pytree of arrays.
      xs: a pytree of arrays with one leading size, or None.
      length: the number of steps, needed where ``xs`` is None.
      reverse: from the last slice to the first (``y`` stays in the place of its ``x``).
      unroll: how many steps the compiled loop takes at once; True: all. Not with what follows.
      checkpoint_every: reverse mode keeps the carry of every so many steps and computes the others again, as
        ``lax.checkpointed_scan`` says.
      checkpoints: reverse mode keeps no more than so many carries.

    Returns:
      ``(carry, ys)``: the last carry, and the results stacked along a new first dimension.

    Raises:
      TypeError, ValueError: for a carry that changes its type or lengths that differ; the message names the
        leaf.

    Example:
      >>> lax.scan(lambda total, x: (total + x, total), 0.0, rnp.array([1.0, 2.0, 3.0]))
      (Array(6., dtype=float32), Array([0., 1., 3.], dtype=float32))
    """
    if checkpoint_every is not None or checkpoints is not None:
        if unroll != 1:
            who = f"scan of {describe_function(f)}"
            raise ValueError(f"{who}: unroll does not go with checkpoints, leave it out")
        few = plugin_functions.loops_keeping_few(f"scan of {describe_function(f)}")
        return few.scan_keeping_few(
            f, init, xs, length, reverse, every=checkpoint_every, checkpoints=checkpoints
        )
    return named_scan("scan", f, init, xs, length, reverse, unroll, advice="; give it xs or length")


def named_scan(
    what: str, f: Callable, init: Any, xs: Any = None, length: int | None = None, reverse: bool = False,
    unroll: int | bool = 1, advice: str = "",
) -> tuple:  # fmt: skip
    """``scan``, by the name ``what`` in messages.

    Example:
      >>> from rabbet.extend.bodies import named_scan
      >>> total, _ = named_scan("my_sum", lambda c, x: (c + x, None), 0.0, np.float32([1, 2, 3]))
      >>> float(total)
      6.0
    """
    if type(unroll) is not int and unroll is not True:
        unroll = whole_number(f"{what} of {describe_function(f)}", "unroll", unroll)
    if unroll < 0:
        raise ValueError(f"{what} of {describe_function(f)}: unroll must not be negative, got {unroll}")
    if type(reverse) is not bool:
        reverse = flag(f"{what} of {describe_function(f)}", "reverse", reverse)
    init_leaves, init_tree = flat_operands(init)
    if any(isinstance(x, Cell) for x in tree.leaves(xs)):
        f, xs, length = _over_cells(f, xs, length, what)
    x_leaves, x_tree = flat_operands(xs)
    n = number_of_steps(f, x_leaves, x_tree, length, what, advice)
    if config.disable_jit and n:  # what a loop of no steps stacks is known by tracing it only
        return _scan_in_python(f, init, xs, n, reverse)
    in_tree = tree.tuple_of([init_tree, x_tree])
    slices = [typeof(x).without(0) for x in x_leaves]
    body, leaves = stage_loop_body(what, f, init_leaves, in_tree, slices, takes_cells=True)
    parts = _pair(f, body.out_tree)
    convert_weak_outputs(body, leaves, len(leaves))
    _check_carry(what, f, body, init_tree, leaves, parts[0])
    threading = Threading(body.touched)
    if threading:

        def threaded(carry: Any, x: Any) -> Any:
            (after, y), contents = threading.run(carry[0], f, carry[1], x)
            return (contents, after), y

        start = threading.enter(), init
        (contents, last), ys = named_scan(what, named_like(threaded, f), start, xs, n, reverse, unroll)
        threading.leave(contents)
        return last, ys
    how = {"length": n, "reverse": reverse, "unroll": n if unroll is True else max(unroll, 1)}
    make = lambda: scans.scan.op(jaxpr=body.program, consts=len(body.consts), carry=len(leaves), **how)
    outs = body.held((body.program, *how.values()), make)(*body.consts, *leaves, *x_leaves)
    outs = handed_on(body, leaves, outs)
    return tree.unflatten(init_tree, outs[: len(leaves)]), tree.unflatten(parts[1], outs[len(leaves) :])


def _over_cells(f: Callable, xs: Any, length: int | None, what: str) -> tuple:
    """The loop over slices of cells as one over their numbers: the function, arrays to scan, and length."""
    leaves, x_tree = tree.flatten(xs)
    like = [ShapeDtypeStruct(x.type.shape, x.type.dtype) if isinstance(x, Cell) else x for x in leaves]
    n = number_of_steps(f, like, x_tree, length, what)

    def of_numbers(carry: Any, numbered: ArrayLike) -> tuple:
        i, arrays = numbered
        mine = iter(arrays)
        slices = [x.slices(i) if isinstance(x, Cell) else next(mine) for x in leaves]
        return f(carry, tree.unflatten(x_tree, slices))

    arrays = [x for x in leaves if not isinstance(x, Cell)]
    return named_like(of_numbers, f), (np.arange(n, dtype=np.int32), arrays), n


def _pair(f: Callable, out_tree: tree.PyTreeDef) -> tuple:
    parts = tree.parts_of_pair(out_tree)
    if parts is None:
        raise TypeError(
            f"scan: {describe_function(f)} must return a pair (carry, y), it returned {in_words(out_tree)}; "
            "where nothing is to be kept of each step, return (carry, None)"
        )
    return parts


def number_of_steps(
    f: Callable, leaves: list, treedef: tree.PyTreeDef, length: int | None, what: str = "scan",
    advice: str = "",
) -> int:  # fmt: skip
    """The number of slices of arrays that are scanned together, and the length that was asked for; ``what``
    for messages, and ``advice`` for the one that there are no arrays.

    Example:
      >>> from rabbet.extend.bodies import number_of_steps
      >>> leaves, treedef = rb.tree.flatten({"x": np.ones((3, 2)), "y": np.ones(3)})
      >>> number_of_steps(lambda row: row, leaves, treedef, None)
      3
    """
    who = lambda: f"{what} of {describe_function(f)}"
    named = lambda i: f"xs{keystr(tree.leaf_path(treedef, i))}"
    sizes: dict = {}
    for i, x in enumerate(leaves):
        aval = typeof(x)
        if not aval.shape:
            raise ValueError(f"{who()}: {named(i)} is a scalar and has no slices")
        sizes.setdefault(aval.shape[0], i)
    if length is not None:
        try:
            length = operator.index(length)
        except TypeError:
            raise TypeError(f"{who()}: length must be an int, got {length!r:.60}") from None
        if length < 0:
            raise ValueError(f"{who()}: length must not be negative, got {length}")
        sizes.setdefault(length, None)
    if not sizes:
        raise ValueError(f"{who()}: xs holds no arrays{advice}")
    if len(sizes) > 1:
        by = lambda i: "length" if i is None else f"{named(i)} ({typeof(leaves[i]).str_short()})"
        shown = "; ".join(f"{size} by {by(i)}" for size, i in sizes.items())
        raise ValueError(f"{who()}: the number of steps is not clear: {shown}")
    return next(iter(sizes))


def _scan_in_python(f: Callable, init: Any, xs: Any, n: int, reverse: bool) -> tuple:
    carry, ys = tree.map(array_or_tracer, init), []
    order = reversed(range(n)) if reverse else range(n)
    for i in order:
        carry, y = f(carry, tree.map(lambda x, i=i: x[i], xs))
        ys.append(y)
    ys = ys[::-1] if reverse else ys
    return carry, tree.map(_stacked, *ys)


def _stacked(*parts: Any) -> Any:
    """What the steps gave, one below the other. A weak carry has given way to the dtype of later ones."""
    arrays = [array_or_tracer(p) for p in parts]
    if len({x.dtype for x in arrays}) > 1:
        dtype = dtypes.result_type(*arrays)
        arrays = [convert_element_type(x, dtype) for x in arrays]
    return shapes.stack(arrays)


def fori_loop(
    lower: ArrayLike, upper: ArrayLike, body_fun: Callable, init_val: Any, *,
    unroll: int | bool | None = None,
) -> Any:  # fmt: skip
    """``val = body_fun(i, val)`` for ``i`` from ``lower`` up to ``upper``.

    Args:
      lower, upper: integer or floating scalars. Where both are known when the loop is traced (Python ints,
        most often) it can be differentiated in reverse mode.
      body_fun: from ``(i, val)`` to a value of the same structure and types. ``i`` has the type of the
        bounds; where they are known, or ``lower`` is a Python number, it gives way in promotion as that does.
      init_val: a pytree of arrays.

    Returns:
      the last value.

    Example:
      >>> rb.jit(lambda x: lax.fori_loop(0, 5, lambda i, x: x + i, x))(10)
      Array(20, dtype=int32, weak_type=True)
    """
    lower, upper = opened(lower), opened(upper)  # a symbolic dimension is a computed bound
    for name, bound in (("lower", lower), ("upper", upper)):
        scalar_type(f"fori_loop: {name}", bound, "iuf", "an integer or floating scalar")
    kinds = ["float" if dtypes.kind(typeof(bound).dtype) == "f" else "integer" for bound in (lower, upper)]
    if kinds[0] != kinds[1]:
        raise DTypeError(
            f"fori_loop: lower and upper must have equal types, got {typeof(lower).str_short()} and "
            f"{typeof(upper).str_short()}; convert one of them"
        )
    dtype = dtypes.promote_types(typeof(lower).dtype, typeof(upper).dtype)
    known = [known_number(bound) for bound in (lower, upper)]
    if None not in known:

        def step(carry: Any, _: Any) -> Any:
            i, val = carry
            return (i + 1, body_fun(i, val)), None

        steps = max(math.ceil(known[1] - known[0]), 0)
        # As weak as Python's numbers: `val + i` has the type of `val`.
        first = lower if is_tracer(lower) else known[0]
        if typeof(first).dtype != dtype:
            first = convert_element_type(first, dtype)
        step = stands_for(step, "fori_loop", body_fun)
        (_, val), _ = named_scan("fori_loop", step, (first, init_val), None, steps, unroll=unroll or 1)
        return val
    start, stop = convert_element_type(lower, dtype), convert_element_type(upper, dtype)
    if typeof(lower).weak_type and typeof(lower).dtype == dtype:
        start = lower
    counting = lambda state: (state[0] + 1, state[1], body_fun(state[0], state[2]))
    counting = stands_for(counting, "fori_loop between arrays", body_fun)
    return repeat("fori_loop", _is_below, counting, (start, stop, init_val))[2]


def known_number(bound: Any) -> Any:
    """The Python number of a bound, None where it is not known."""
    if is_tracer(bound):
        value = concrete(bound)
        if value is None:
            return None
        return value("float()")() if dtypes.kind(typeof(bound).dtype) == "f" else value("int()")()
    return float(bound) if dtypes.kind(typeof(bound).dtype) == "f" else int(bound)


def _is_below(state: tuple) -> Any:
    return logic.lt(*state[:2])


__all__ = ["fori_loop", "scan", "while_loop"]
