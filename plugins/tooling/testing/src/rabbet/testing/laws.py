"""What must hold of every primitive and every transformation.

A law is a generator of ``Pair(label, got, wanted)`` of arrays, and computes both sides with operations: so
all laws about a row make one program, which is compiled once. ``fn`` takes and returns tuples of arrays;
``system`` is a ``driver.System``.
"""

from typing import Any, NamedTuple

import numpy as np

from rabbet import dtypes, lax
from rabbet.extend.primitive import tangent_aval
from rabbet.extend.transform import typeof
from rabbet.testing.draws import device_array

# Step of the finite differences. Central differences in float64 are then exact to about nine digits.
STEP = 1e-5


class Pair(NamedTuple):
    """Two arrays that must agree."""

    label: str
    got: Any
    wanted: Any


class LawError(AssertionError):
    """A law does not hold; says for what and by how much.

    Example:
      >>> from rabbet.testing import LawError, Row, check_primitive
      >>> from rabbet.testing.draws import some
      >>> try:
      ...     check_primitive(Row(lax.sin, np.cos, (some(2, 3),), ("float32",), orders=0))
      ... except LawError as error:
      ...     print(str(error).partition(":")[0])
      sin in float32
    """


def inexact(x):
    """Whether an array has tangents."""
    return dtypes.kind(typeof(x).dtype) in "fc"


def smooth_part(fn, args):
    """``fn`` as a function of its inexact arguments to its inexact results; those arguments."""
    moving = [x for x in args if inexact(x)]

    def of_moving(*given):
        each = iter(given)
        return tuple([y for y in fn(*[next(each) if inexact(x) else x for x in args]) if inexact(y)])

    return of_moving, moving


def directions(arrays, seed):
    """An array of moderate random numbers like each of ``arrays``."""
    rng = np.random.default_rng(seed)

    def like(x):
        aval = typeof(x)
        host = rng.uniform(-1.0, 1.0, aval.shape)
        if dtypes.kind(aval.dtype) == "c":
            host = host + 1j * rng.uniform(-1.0, 1.0, aval.shape)
        return device_array(host.astype(aval.dtype))

    return tuple([like(x) for x in arrays])


def inner(xs, ys):
    """The pairing of cotangents and tangents: the real part of the sum of products, without conjugation."""
    total = None
    for x, y in zip(xs, ys, strict=True):
        product = lax.mul(x, y)
        product = lax.real(product) if dtypes.kind(typeof(product).dtype) == "c" else product
        part = lax.reduce_sum(product, tuple(range(typeof(product).ndim)))
        total = part if total is None else lax.add(total, part)
    return total


def difference(fn, xs, ts):
    """The derivative of ``fn`` at ``xs`` in the direction ``ts``, by central differences."""

    def moved(step):
        return fn(*[lax.add(x, lax.mul(t, step)) for x, t in zip(xs, ts, strict=True)])

    return [lax.mul(lax.sub(a, b), 0.5 / STEP) for a, b in zip(moved(STEP), moved(-STEP), strict=True)]


def same_types(label, got, avals):
    """Refuse arrays that are not of the given types, weak types aside."""
    have = [typeof(x).strong() for x in got]
    if have != [a.strong() for a in avals]:
        shown = ", ".join(a.str_short() for a in have), ", ".join(a.str_short() for a in avals)
        raise LawError(f"{label}: types {shown[0]}, wanted {shown[1]}")


def forward(system, fn, args):
    """Forward mode gives the derivative: its tangents are what finite differences say."""
    fn, xs = smooth_part(fn, args)
    ts = directions(xs, 1)
    plain = fn(*xs)
    outs, tangents = system.jvp(fn, tuple(xs), ts)
    same_types("tangents", tangents, [tangent_aval(typeof(y)) for y in plain])
    for i, (out, y) in enumerate(zip(outs, plain, strict=True)):
        yield Pair(f"jvp: result {i}", out, y)
    for i, (t, d) in enumerate(zip(tangents, difference(fn, xs, ts), strict=True)):
        yield Pair(f"jvp: tangent {i}", t, d)
    for j, x in enumerate(xs):
        if len(xs) > 1:
            only = [t if k == j else lax.full_like(t, 0) for k, t in enumerate(ts)]
            alone, of_x = _alone(fn, xs, j)
            _, (first, *_) = system.jvp(alone, (x,), (only[j],))
            yield Pair(f"jvp: tangent 0 by operand {j}", first, difference(of_x, (x,), (only[j],))[0])


def _alone(fn, xs, j):
    def of_one(x):
        return fn(*[x if k == j else y for k, y in enumerate(xs)])

    return of_one, of_one


def reverse(system, fn, args):
    """Reverse mode is the transpose of forward mode: ``<ct, jvp(t)> == <vjp(ct), t>``."""
    fn, xs = smooth_part(fn, args)
    ts = directions(xs, 1)
    outs, tangents = system.jvp(fn, tuple(xs), ts)
    cts = directions(outs, 2)
    plain, pull = system.vjp(fn, *xs)
    for i, (a, b) in enumerate(zip(plain, outs, strict=True)):
        yield Pair(f"vjp: result {i}", a, b)
    pulled = pull(cts)
    same_types("cotangents", pulled, [tangent_aval(typeof(x)) for x in xs])
    yield Pair("vjp", inner(pulled, ts), inner(cts, tangents))
    for j, x in enumerate(xs):
        if len(xs) > 1:
            alone, _ = _alone(fn, xs, j)
            _, pull_alone = system.vjp(alone, x)
            yield Pair(f"vjp by operand {j}", pull_alone(cts)[0], pulled[j])


def second_order(system, fn, args):
    """The second derivative agrees with differences of the first, and is symmetric across both modes."""
    fn, xs = smooth_part(fn, args)
    xs = tuple(xs)
    ts, us = directions(xs, 1), directions(xs, 3)

    def push(*points):
        return system.jvp(fn, points, ts)[1]

    _, twice = system.jvp(push, xs, us)
    for i, (a, b) in enumerate(zip(twice, difference(push, xs, us), strict=True)):
        yield Pair(f"jvp of jvp {i}", a, b)
    cts = directions(twice, 2)

    def pulled(*points):
        return system.vjp(fn, *points)[1](cts)

    _, moved = system.jvp(pulled, xs, us)
    yield Pair("jvp of vjp", inner(moved, ts), inner(cts, twice))
    _, pull = system.vjp(pulled, *xs)
    yield Pair("vjp of vjp", inner(pull(ts), us), inner(cts, twice))


def batching(system, fn, examples):
    """Mapping over a batch is the loop over its examples, wherever the batch dimension is and whichever
    operands have one.

    Args:
      examples: for each operand its examples, stacked along a leading dimension.
    """
    size = typeof(examples[0]).shape[0]
    ranks = [typeof(x).ndim - 1 for x in examples]
    wanted = {}
    for axes in placements(ranks):
        mapped = tuple([a is not None for a in axes])
        if mapped not in wanted:
            rows = [
                fn(*[_example(x, i if m else 0) for x, m in zip(examples, mapped, strict=True)])
                for i in range(size)
            ]
            wanted[mapped] = [lax.stack(column) for column in zip(*rows, strict=True)]
        operands = [
            _example(x, 0) if a is None else lax.transpose(x, _to(typeof(x).ndim, a))
            for x, a in zip(examples, axes, strict=True)
        ]
        got = system.vmap(fn, axes)(*operands)
        same_types(f"vmap over {axes}", got, [typeof(w) for w in wanted[mapped]])
        for i, (a, b) in enumerate(zip(got, wanted[mapped], strict=True)):
            yield Pair(f"vmap over {axes}: result {i}", a, b)


def placements(ranks):
    """Batch axes to try, an axis or None per operand: all in front, all last, mixed, each one alone."""
    found = [tuple(0 for _ in ranks), tuple(ranks)]
    if len(ranks) > 1:
        found.append(tuple([0 if i == 0 else r for i, r in enumerate(ranks)]))
        found += [tuple([r if i == j else None for i, r in enumerate(ranks)]) for j in range(len(ranks))]
        found += [tuple([None if i == j else 0 for i, r in enumerate(ranks)]) for j in range(len(ranks))]
    return list(dict.fromkeys(found))


def _to(ndim, axis):
    """The permutation that moves dimension 0 to ``axis``."""
    order = list(range(1, ndim))
    order.insert(axis, 0)
    return tuple(order)


def _example(x, i):
    return lax.squeeze(lax.slice_in_dim(x, i, i + 1), (0,))


def compiled(system, fn, args):
    """A compiled function computes what its operations compute one by one."""
    for i, (a, b) in enumerate(zip(system.jit(fn)(*args), fn(*args), strict=True)):
        yield Pair(f"jit: result {i}", a, b)


def nested(system, fn, examples):
    """A batch of batches is the loop over both.

    Args:
      examples: for each operand its examples, stacked along a leading dimension.
    """
    over = (0,) * len(examples)
    turned = [lax.rev(x, (0,)) for x in examples]
    twice = [lax.stack(pair) for pair in zip(examples, turned, strict=True)]
    got = system.vmap(system.vmap(fn, over), over)(*twice)
    for half, operands in enumerate((examples, turned)):
        for i, (a, b) in enumerate(zip(got, system.vmap(fn, over)(*operands), strict=True)):
            yield Pair(f"vmap of vmap: result {i}", _example(a, half), b)


def nested_derivatives(system, fn, examples):
    """The derivative of a batch is the batch of the derivatives, in both modes, whichever is outside.

    Args:
      examples: for each operand its examples, stacked along a leading dimension.
    """
    flags = [inexact(x) for x in examples]
    moving = tuple([x for x in examples if inexact(x)])
    constant = tuple([x for x in examples if not inexact(x)])
    n, m = len(moving), len(constant)

    def smooth(*xs):
        first, rest = iter(xs[:n]), iter(xs[n:])
        return tuple([y for y in fn(*[next(first) if f else next(rest) for f in flags]) if inexact(y)])

    def push(*xs):
        return system.jvp(lambda *p: smooth(*p, *xs[2 * n :]), xs[:n], xs[n : 2 * n])[1]

    def pull(*xs):
        return system.vjp(lambda *p: smooth(*p, *xs[n : n + m]), *xs[:n])[1](xs[n + m :])

    def mapped(*p):
        return system.vmap(smooth, (0,) * (n + m))(*p, *constant)

    ts = directions(moving, 1)
    cts = directions(mapped(*moving), 2)
    for name, one, inputs, outside in (
        ("jvp", push, (*moving, *ts, *constant), system.jvp(mapped, moving, ts)[1]),
        ("vjp", pull, (*moving, *constant, *cts), system.vjp(mapped, *moving)[1](cts)),
    ):
        rows = [one(*[_example(x, i) for x in inputs]) for i in range(typeof(examples[0]).shape[0])]
        wanted = [lax.stack(column) for column in zip(*rows, strict=True)]
        inside = system.vmap(one, (0,) * len(inputs))(*inputs)
        for label, got in ((f"vmap of {name}", inside), (f"{name} of vmap", outside)):
            for i, (a, b) in enumerate(zip(got, wanted, strict=True)):
                yield Pair(f"{label}: {i}", a, b)


LAWS = {
    "forward": forward, "reverse": reverse, "second_order": second_order, "batching": batching,
    "compiled": compiled, "nested": nested, "nested_derivatives": nested_derivatives,
}  # fmt: skip
# The laws that are given a batch of examples.
OF_BATCHES = frozenset(["batching", "nested", "nested_derivatives"])
