"""Reverse mode through a loop of unknown length with a stated number of kept states.

The forward pass keeps the states of every ``stride``-th step; where there is no place left, every second
one of them gives its place, and the stride doubles. In the backward pass the places that are free again are
filled by the binomial schedule of A. Griewank and A. Walther ("Algorithm 799: revolve", 2000), which computes
the fewest steps again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rabbet import dtypes, lax
from rabbet.extend.functions import array_or_tracer
from rabbet.extend.transform import typeof
from rabbet_custom_rules import custom_rules

from rabbet_autodiff.api import jvp, vjp

if TYPE_CHECKING:
    from rabbet.typing import Value

    Values = list[Value]



def number(i: Value) -> Value:
    return lax.convert_element_type(array_or_tracer(i), "int32")


def strong(x: Value) -> Value:
    """``x`` without a weak type."""
    return lax.convert_element_type(x, typeof(x).dtype)


def stored(buffers: Values, slot: Value, values: Values, when: Value) -> Values:
    """The buffers with ``values`` in ``slot``, where ``when`` holds."""
    out = []
    for buffer, x in zip(buffers, values, strict=True):
        before = lax.dynamic_index_in_dim(buffer, slot, 0, keepdims=False)
        out.append(lax.dynamic_update_index_in_dim(buffer, lax.select(when, x, before), slot, 0))
    return out


def read(buffer: Value, i: Value) -> Value:
    return lax.dynamic_index_in_dim(buffer, i, 0, keepdims=False)


def put(table: Value, i: Value, x: Value) -> Value:
    return lax.dynamic_update_index_in_dim(table, x, i, 0)


def advance(length: Value, places: Value) -> Value:
    """How many of ``length`` steps to go on before a state is kept, with ``places`` places in all.

    The fewest rounds ``r`` that do have ``length <= C(places + r, places)``; what lies behind the new state
    has one place less: ``C(places + r - 1, places - 1)`` steps.
    """
    length, s = (lax.convert_element_type(x, "float32") for x in (length, places))
    more = lambda state: lax.lt(state[0], length)
    grow = lambda state: (
        lax.div(lax.mul(state[0], lax.add(s, lax.add(state[1], 1.0))), lax.add(state[1], 1.0)),
        lax.add(state[1], 1.0),
    )
    one = lax.full_like(s, 1)
    total, rounds = lax.while_loop(more, grow, (one, lax.full_like(s, 0)))
    behind = lax.div(lax.mul(total, s), lax.max(lax.add(s, rounds), one))
    steps = lax.ceil(lax.sub(length, behind))
    return number(lax.clamp(one, steps, lax.max(lax.sub(length, 1.0), one)))


def while_with_places(
    going_on: Callable[..., Any], step: Callable[..., Any], consts: Values, values: Values, places: int
) -> Values:
    """``values`` after a loop of which reverse mode keeps ``places`` states.

    Args:
      going_on: ``(consts, k, values) -> bool`` before step ``k``.
      step: ``(consts, values) -> values``.
    """
    values = [strong(x) for x in values]
    smooth, const_smooth = ([dtypes.kind(typeof(x).dtype) in "fc" for x in xs] for xs in (values, consts))
    once = lambda consts, values: [strong(x) for x in step(consts, values)]

    def forward(consts: Values, values: Values, kept: bool) -> Any:
        more = lambda state: going_on(consts, state[0], state[1])
        if not kept:
            plain = lambda state: (lax.add(state[0], 1), once(consts, state[1]))
            return lax.while_loop(more, plain, (number(0), values))[1]

        def keeping(state: Any) -> Any:
            k, values, stride, count, order, buffers = state
            due = lax.bitwise_and(lax.eq(lax.rem(k, stride), 0), lax.gt(k, 0))
            full = lax.bitwise_and(due, lax.eq(count, places))
            order = lax.select(full, lax.concatenate([order[0::2], order[1::2]], 0), order)
            count = lax.select(full, lax.full_like(count, (places + 1) // 2), count)
            stride = lax.select(full, lax.mul(stride, 2), stride)
            due = lax.bitwise_and(due, lax.eq(lax.rem(k, stride), 0))
            slot = read(order, lax.min(count, places - 1))
            buffers = stored(buffers, slot, values, due)
            count = lax.add(count, number(due))
            return lax.add(k, 1), once(consts, values), stride, count, order, buffers

        empty = [lax.full((places, *typeof(x).shape), 0, typeof(x).dtype) for x in values]
        buffers = [put(buffer, number(0), x) for buffer, x in zip(empty, values, strict=True)]
        order = lax.iota("int32", places)
        return lax.while_loop(more, keeping, (number(0), values, number(1), number(1), order, buffers))

    def backward(consts: Values, tape: Any, cts: Values) -> tuple[Values, Values]:
        n, _, stride, count, order, buffers = tape
        floats, others = _split(const_smooth, consts)
        places_at = lax.mul(lax.iota("int32", places), stride)

        def seek(k: Value, state: Any) -> Any:
            """One kept state more on the way to step ``k``, or step ``k`` itself."""
            at, values, top, position, buffers = state
            free = lax.sub(places - 1, top)
            far = lax.sub(k, at)
            can = lax.gt(free, 0)
            steps = lax.select(can, advance(lax.add(far, 1), lax.add(lax.max(free, 1), 1)), far)
            run = lambda s: (lax.sub(s[0], 1), once(consts, s[1]))
            values = lax.while_loop(lambda s: lax.gt(s[0], 0), run, (steps, values))[1]
            at, top = lax.add(at, steps), lax.add(top, number(can))
            buffers = stored(buffers, read(order, top), values, can)
            position = put(position, top, lax.select(can, at, read(position, top)))
            return at, values, top, position, buffers

        def back(state: Any) -> Any:
            k, top, position, buffers, cts, const_cts = state
            values = [read(b, read(order, top)) for b in buffers]
            start = read(position, top), values, top, position, buffers
            _, values, top, position, buffers = lax.while_loop(
                lambda s: lax.lt(s[0], k), functools.partial(seek, k), start
            )
            own, rest = _split(smooth, values)

            def of_floats(floats: Values, own: Values) -> Values:
                after = once(_merge(const_smooth, floats, others), _merge(smooth, own, rest))
                return _split(smooth, after)[0]

            by_consts, cts = vjp(of_floats, floats, own)[1](cts)
            const_cts = [lax.add(a, b) for a, b in zip(const_cts, by_consts, strict=True)]
            top = lax.max(lax.sub(top, number(lax.eq(read(position, top), k))), 0)
            return lax.sub(k, 1), top, position, buffers, cts, const_cts

        zeros = [lax.full_like(strong(x), 0) for x in floats]
        start = lax.sub(n, 1), lax.sub(count, 1), places_at, buffers, cts, zeros
        out = lax.while_loop(lambda state: lax.ge(state[0], 0), back, start)
        return out[5], out[4]

    @custom_rules
    def loop(floats: Values, own: Values, others: Values, rest: Values) -> tuple[Values, Values]:
        out = forward(_merge(const_smooth, floats, others), _merge(smooth, own, rest), False)
        return _split(smooth, out)

    @loop.def_rule("jvp")
    def push(primals: Any, tangents: Any) -> Any:
        _, _, others, rest = primals

        def of_floats(floats: Values, own: Values) -> tuple[Values, Values]:
            out = forward(_merge(const_smooth, floats, others), _merge(smooth, own, rest), False)
            return _split(smooth, out)

        return jvp(of_floats, tuple(primals[:2]), tuple(tangents[:2]))

    @loop.def_rule("vjp")
    def pull(floats: Values, own: Values, others: Values, rest: Values) -> Any:
        consts = _merge(const_smooth, floats, others)
        tape = forward(consts, _merge(smooth, own, rest), True)
        pulled = lambda cts: (*backward(consts, tape, list(cts[0])), None, None)
        return _split(smooth, tape[1]), pulled

    floats, others = _split(const_smooth, consts)
    own, rest = _split(smooth, values)
    return _merge(smooth, *loop(floats, own, others, rest))


def _split(mask: list[bool], values: Values) -> tuple[Values, Values]:
    pairs = list(zip(mask, values, strict=True))
    return [x for m, x in pairs if m], [x for m, x in pairs if not m]


def _merge(mask: list[bool], floats: Values, others: Values) -> Values:
    a, b = iter(floats), iter(others)
    return [next(a) if m else next(b) for m in mask]


__all__ = ["while_with_places"]
