"""Loops that keep few states for reverse mode: ``lax.checkpointed_scan``, ``lax.bounded_while_loop``.

Both are loops of loops whose bodies are checkpoints. The scan has two levels, so it keeps about ``2 sqrt(n)``
states and computes each step twice. The loop of unknown length has as many levels of 16 steps as its bound
needs: it keeps ``16 log16(n)`` states, computes each step once for each level, and skips what lies behind its
end.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import lax, tree
from rabbet.extend.bodies import Body, convert_weak_outputs, stage_loop_body
from rabbet.extend.functions import array_or_tracer, describe_function
from rabbet.extend.passes import evaluate
from rabbet.extend.transform import typeof

from rabbet_autodiff.api import jvp
from rabbet_autodiff.checkpoint import checkpoint
from rabbet_autodiff.custom import custom_jvp
from rabbet_autodiff.kept_states import while_with_places

if TYPE_CHECKING:
    from rabbet.typing import Value

BASE = 16


def at_least_one(who: str, what: str, n: Any) -> int:
    """``n`` as an int; refuses what is none or below 1."""
    try:
        n = operator.index(n)
    except TypeError:
        raise TypeError(f"{who}: {what} must be a static int, got {n!r:.60}") from None
    if n < 1:
        raise ValueError(f"{who}: {what} must be at least 1, got {n}")
    return n


def checkpointed_scan(
    f: Callable[..., Any], init: Any, xs: Value = None, length: int | None = None, reverse: bool = False,
    *, every: int | None = None, checkpoints: int | None = None,
) -> tuple[Any, Any]:  # fmt: skip
    """``lax.scan`` that keeps one carry in ``every`` for reverse mode and computes the others again;
    ``lax.scan`` with ``checkpoint_every`` or ``checkpoints`` is this function.

    Values and derivatives are those of ``lax.scan``. Reverse mode keeps ``n / every`` carries, and while it
    goes through one stretch what ``every`` steps keep. With ``checkpoints`` it keeps no more than so many
    carries, in as few levels of stretches within stretches as do; each level computes each step once again.

    Args:
      f, init, xs, length, reverse: as for ``lax.scan``.
      every: how many steps lie between two carries that are kept; by default the square root of their number.
      checkpoints: the number of carries to keep, at least twice the binary logarithm of the number of steps.

    Raises:
      TypeError, ValueError: as ``lax.scan``, and for ``every`` below 1, ``checkpoints`` that are too
        few (the message says how many it takes), or both.

    Example:
      >>> f = lambda x: lax.checkpointed_scan(lambda c, _: (rnp.sin(c), None), x, length=100)[0]
      >>> print(f"{float(rb.grad(f)(1.0)):.5f}")
      0.00370
    """
    who = f"checkpointed_scan of {describe_function(f)}"
    leaves = [array_or_tracer(x) for x in tree.leaves(xs)]
    sizes = {typeof(x).shape[0] for x in leaves if typeof(x).shape}
    if length is not None:
        sizes.add(operator.index(length))
    stretch = None if every is None else at_least_one(who, "every", every)
    places = None if checkpoints is None else at_least_one(who, "checkpoints", checkpoints)
    if stretch is not None and places is not None:
        raise TypeError(f"{who} takes every or checkpoints, not both")
    if len(sizes) != 1 or any(not typeof(x).shape for x in leaves):
        return lax.scan(f, init, xs, length, reverse)  # it says what does not fit
    (n,) = sizes
    deeper = None
    if places is not None:
        if n <= places:
            return lax.scan(checkpoint(f, prevent_cse=False), init, xs, length, reverse)
        stretch, deeper = levels_of(who, n, places)
    stretch = max(1, math.isqrt(n)) if stretch is None else stretch
    count, rest = divmod(n, stretch)
    if count < 2:
        return lax.scan(checkpoint(f, prevent_cse=False) if count else f, init, xs, length, reverse)
    cut = n - rest if not reverse else rest  # the stretch that is shorter comes last

    def part(start: int, stop: int) -> Any:
        return tree.map(lambda x: lax.slice_in_dim(array_or_tracer(x), start, stop, axis=0), xs)

    @checkpoint
    def inner(carry: Any, xs: Any) -> Any:
        return inside(carry, xs, stretch)

    def inside(carry: Any, xs: Any, n: int) -> Any:
        if deeper is None:
            return lax.scan(f, carry, xs, n, reverse)
        return checkpointed_scan(f, carry, xs, n, reverse, checkpoints=deeper)

    long, short = (part(0, cut), part(cut, n)) if not reverse else (part(cut, n), part(0, cut))
    fold = lambda x: lax.reshape(x, (count, stretch, *x.shape[1:]))
    carry, ys = lax.scan(inner, init, tree.map(fold, long), count, reverse)
    ys = tree.map(lambda y: lax.reshape(y, (count * stretch, *y.shape[2:])), ys)
    if not rest:
        return carry, ys
    last = checkpoint(lambda carry, xs: inside(carry, xs, rest))
    carry, more = last(carry, short)
    pair = (lambda a, b: [b, a]) if reverse else (lambda a, b: [a, b])
    return carry, tree.map(lambda a, b: lax.concatenate(pair(a, b), 0), ys, more)


def round_up_root(n: int, d: int) -> int:
    """The smallest ``b`` with ``b ** d >= n``."""
    b = max(1, int(n ** (1 / d)) - 1)
    while b**d < n:
        b += 1
    return b


def levels_of(who: str, n: int, places: int) -> tuple[int, int]:
    """The length of a stretch of ``n`` steps, and how many carries may be kept inside one.

    In ``d`` levels of ``b`` stretches ``d b`` carries are kept, and ``b ** d`` steps are done.
    """
    for depth in range(2, n.bit_length() + 1):
        base = places // depth
        if base >= 2 and base**depth >= n:
            stretch = -(-n // base)
            return stretch, places - base
    fewest = min(d * max(2, round_up_root(n, d)) for d in range(1, n.bit_length() + 1))
    raise ValueError(f"{who}: {places} checkpoints are too few for {n} steps; it takes {fewest}")


def bounded_while_loop(
    cond_fun: Callable[..., Any],
    body_fun: Callable[..., Any],
    init_val: Any,
    *,
    max_steps: int | None = None,
    checkpoints: int | None = None,
) -> Value:
    """``lax.while_loop`` of at most ``max_steps`` steps or with a stated number of ``checkpoints``, through
    which reverse mode can go; ``lax.while_loop`` with one of these keywords is this function.

    With ``max_steps`` alone: where nothing is differentiated it is a plain loop with a counter. Reverse mode
    keeps about ``16 log16(max_steps)`` states and computes each step again once for each power of 16 in
    ``max_steps``; derivatives of every order, in every mode. Steps behind the end are skipped; under
    ``vmap``, where examples end apart, derivatives compute all ``max_steps``.

    With ``checkpoints`` reverse mode keeps so many states, however long the loop is; ``n`` steps are computed
    about ``r n`` times more, where ``C(checkpoints + r, r)`` is ``n``. Its backward pass is such a loop
    itself, so that forward mode goes through it and another reverse mode does not.

    Args:
      cond_fun, body_fun, init_val: as for ``lax.while_loop``.
      checkpoints: a static int, the number of states that are kept.
      max_steps: a static int. The loop ends after so many steps also where the condition still holds; look at
        ``cond_fun`` of the result to know.

    Raises:
      TypeError, ValueError: as ``lax.while_loop``, for ``max_steps`` or ``checkpoints`` below 1, and where
        there is neither.

    Example:
      >>> f = lambda x: lax.bounded_while_loop(lambda v: v < 100, lambda v: v * v, x, max_steps=64)
      >>> f(3.0), rb.grad(f)(3.0)
      (Array(6561., dtype=float32, weak_type=True), Array(17496., dtype=float32, weak_type=True))
    """
    who = f"bounded_while_loop of {describe_function(body_fun)}"
    if max_steps is None and checkpoints is None:
        raise TypeError(f"{who} needs max_steps or checkpoints")
    n = None if max_steps is None else at_least_one(who, "max_steps", max_steps)
    places = None if checkpoints is None else at_least_one(who, "checkpoints", checkpoints)
    values, treedef = tree.flatten(init_val)
    values = [array_or_tracer(x) for x in values]
    in_tree = tree.tuple_of([treedef])
    body, leaves = stage_loop_body("bounded_while_loop", body_fun, values, in_tree)
    convert_weak_outputs(body, leaves, len(leaves))
    if body.out_tree != treedef or [a.shape for a in body.out_avals] != [typeof(x).shape for x in leaves]:
        return lax.while_loop(cond_fun, body_fun, init_val)  # it says what does not fit
    test = Body(cond_fun, in_tree, [typeof(x) for x in leaves])
    if test.out_tree != tree.structure(0):
        return lax.while_loop(cond_fun, body_fun, init_val)

    # What is kept for derivatives holds programs, and neither the functions nor what these close over.
    test_program, body_program, count = test.program, body.program, len(test.consts)

    def going_on(consts: Any, state: Any) -> Any:
        (more,) = evaluate(test_program, [*consts[:count], *state[1]])
        return more if n is None else lax.bitwise_and(lax.lt(state[0], n), more)

    def step(consts: Any, state: Any) -> Any:
        values = evaluate(body_program, [*consts[count:], *state[1]])
        return lax.add(state[0], 1), [match(x, y) for x, y in zip(values, state[1], strict=True)]

    if places is not None:
        outs = while_with_places(
            lambda consts, k, values: going_on(consts, (k, values)),
            lambda consts, values: step(consts, (0, values))[1],
            [*test.consts, *body.consts], leaves, places,
        )  # fmt: skip
        return tree.unflatten(treedef, outs)
    assert n is not None

    def levels(consts: Any, state: Any, level: int) -> Any:
        """``BASE ** level`` steps, or fewer where it ends."""
        if level == 0:
            return step(consts, state)

        @checkpoint
        def one(consts: Any, state: Any) -> Any:
            inner = lambda state: levels(consts, state, level - 1)
            return lax.cond(going_on(consts, state), inner, lambda state: state, state)

        return lax.scan(lambda state, _: (one(consts, state), None), state, None, BASE)[0]

    depth = 1
    while BASE**depth < n:
        depth += 1

    @custom_jvp
    def loop(consts: Any, values: Any) -> Any:
        state = (array_or_tracer(0), values)
        return lax.while_loop(lambda s: going_on(consts, s), lambda s: step(consts, s), state)[1]

    @loop.defjvp
    def by_levels(primals: Any, tangents: Any) -> Any:
        def run(consts: Any, values: Any) -> Any:
            return levels(consts, (array_or_tracer(0), values), depth)[1]

        return jvp(run, primals, tangents)

    return tree.unflatten(treedef, loop([*test.consts, *body.consts], leaves))


def match(x: Any, like: Any) -> Any:
    """``x`` with the weakness of the type that a loop carries."""
    a, b = typeof(x), typeof(like)
    return lax.convert_element_type(x, b.dtype) if a.weak_type and not b.weak_type else x


# What `lax.while_loop` and `lax.scan` with such keywords are, by the group `rabbet.loops`.
while_keeping_few, scan_keeping_few = bounded_while_loop, checkpointed_scan

__all__ = ["bounded_while_loop", "checkpointed_scan", "scan_keeping_few", "while_keeping_few"]
