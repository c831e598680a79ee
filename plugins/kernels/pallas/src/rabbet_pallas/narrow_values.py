"""Values of a kernel that are the same all along a dimension, kept once on the CPU.

Kernels for TPUs keep a number for each row in all 128 lanes of a row, because lanes are there anyway. On the
CPU that is 128 times the work: exponentials, above all. Here a program runs on *narrow* values: of size 1 in
dimensions along which all elements are the same, spread out only where an operation tells elements apart.
"""

import dataclasses
import math

from rabbet import lax
from rabbet.extend.passes import stage
from rabbet.extend.primitive import ShapedArray
from rabbet.extend.transform import typeof

from rabbet_pallas.reference_parts import Index, Place, Range


class Value:
    """An array that stands for one of shape ``wide``, and is of size 1 where that is the same throughout."""

    __slots__ = ("array", "wide")

    def __init__(self, array, wide):
        self.array, self.wide = array, tuple(wide)

    @property
    def same(self):
        """The dimensions along which there is one element for all."""
        narrow = typeof(self.array).shape
        return frozenset([d for d, (m, n) in enumerate(zip(narrow, self.wide, strict=True)) if m != n])

    def spread(self, same=frozenset()):
        """The array, of size 1 in at most these dimensions."""
        mine = self.same
        if mine <= same:
            return self.array
        shape = [1 if d in mine & same else n for d, n in enumerate(self.wide)]
        return lax.broadcast_in_dim(self.array, tuple(shape), tuple(range(len(shape))))


def narrow_type(aval, same):
    """The type of an array, of size 1 in some dimensions."""
    return ShapedArray(tuple([1 if d in same else n for d, n in enumerate(aval.shape)]), aval.dtype)


def all_dimensions(aval):
    """Those along which a value could be the same throughout."""
    return frozenset([d for d, n in enumerate(aval.shape) if n > 1])


class Narrow:
    """Programs on narrow values. ``gained`` says whether a loop carries something once instead of often."""

    def __init__(self):
        self.gained = False
        self.made = {}  # what was staged, because loops within loops ask for the same again and again

    def run(self, jaxpr, values):
        """The outputs of a program, a ``Value`` each."""
        env = dict(zip(jaxpr.invars, values, strict=True))
        read = lambda v: env[v] if v in env else Value(v.value, v.aval.shape)
        for e in jaxpr.equations:
            rule = RULES.get(e.primitive.name) or (called if e.primitive.is_call else by_kind)
            outs = rule(self, e, [read(v) for v in e.inputs])
            env.update(zip(e.outputs, outs, strict=True))
        return [read(v) for v in jaxpr.outvars]

    def staged(self, jaxpr, avals, same, targets=None):
        """A program on narrow inputs, and along which dimensions each output is the same.

        Args:
          jaxpr: a program.
          avals: the wide types of its inputs; ``same`` the dimensions in which each is narrow.
          targets: the dimensions in which outputs are to be narrow, by default all that can be.
        """
        key = id(jaxpr), tuple(same), None if targets is None else tuple(targets)
        if key in self.made:
            return self.made[key]
        found = []

        def program(*arrays):
            values = [Value(x, a.shape) for x, a in zip(arrays, avals, strict=True)]
            outs = self.run(jaxpr, values)
            found[:] = [v.same for v in outs]
            return [v.spread(t) for v, t in zip(outs, targets or found, strict=True)]

        types = [narrow_type(a, s) for a, s in zip(avals, same, strict=True)]
        closed = stage(program, types, jaxpr.name)
        if closed.consts:
            raise Unsuited
        self.made[key] = closed.jaxpr, list(found)
        return self.made[key]

    def settled(self, jaxpr, avals, same, first, count):
        """A loop's program whose inputs from ``first`` on, ``count`` of them, are its outputs of the step
        before; the dimensions in which they are the same throughout, and those of the other outputs.
        """
        carry = list(same[first : first + count])
        while True:
            inputs = [*same[:first], *carry, *same[first + count :]]
            _, found = self.staged(jaxpr, avals, inputs)
            now = [a & b for a, b in zip(carry, found, strict=False)]
            if now == carry:
                break
            carry = now
        self.gained = self.gained or any(carry)
        targets = [*carry, *found[count:]]
        return self.staged(jaxpr, avals, inputs, targets)[0], carry, found[count:]


class Unsuited(Exception):
    """A program that is left as it is."""


def applied(e, arrays):
    """The results of an equation's operation on arrays, a ``Value`` each."""
    out = e.op(*arrays)
    outs = out if e.primitive.multiple_results else [out]
    return [Value(x, v.aval.shape) for x, v in zip(outs, e.outputs, strict=True)]


def changed(e, arrays, **params):
    """As ``applied``, with some parameters replaced."""
    out = e.primitive.op(**{**e.params, **params})(*arrays)
    return [Value(out, e.outputs[0].aval.shape)]


def on_wide(narrow, e, values):
    return applied(e, [v.spread() for v in values])


def by_kind(narrow, e, values):
    kinds = e.primitive.kinds
    if len(e.outputs) == 1 and "elementwise" in kinds:
        shape = e.outputs[0].aval.shape
        if all(v.wide in ((), shape) for v in values):
            ranked = [v.same for v in values if v.wide == shape and shape]
            same = frozenset.intersection(*ranked) if ranked else frozenset()
            return applied(e, [v.spread(same) if v.wide else v.array for v in values])
    if len(values) == len(e.outputs) == 1 and "reduction" in kinds and "axes" in e.params:
        (value,) = values
        along = {a % len(value.wide) for a in e.params["axes"]}
        return applied(e, [value.spread(value.same - along)])
    return on_wide(narrow, e, values)


def called(narrow, e, values):
    return narrow.run(e.params["jaxpr"], values)


def broadcast(narrow, e, values):
    (value, *rest), out = values, e.outputs[0].aval.shape
    if rest:
        return on_wide(narrow, e, values)
    narrowed = typeof(value.array).shape
    at = {d: narrowed[i] for i, d in enumerate(e.params["broadcast_dimensions"])}
    shape = tuple([1 if at.get(d, 1) == 1 and n else n for d, n in enumerate(out)])
    return changed(e, [value.array], shape=shape)


def iota(narrow, e, values):
    along, shape = e.params["dimension"], e.outputs[0].aval.shape
    if values or 0 in shape:
        return on_wide(narrow, e, values)
    return changed(e, [], shape=tuple([n if d == along else 1 for d, n in enumerate(shape)]))


def as_it_is(narrow, e, values):
    """Where a size of 1 may stand for another."""
    return applied(e, [v.array for v in values])


def reshape(narrow, e, values):
    value, out = values[0], e.outputs[0].aval.shape
    kept, shape = set(), list(out)
    for before, after in factors(value.wide, out):
        if all(d in value.same or value.wide[d] == 1 for d in before):
            kept.update(before)
            for d in after:
                shape[d] = 1
        elif [value.wide[d] for d in before] == [out[d] for d in after]:
            kept.update(before)
            for d, to in zip(before, after, strict=True):
                shape[to] = 1 if d in value.same else out[to]
    if len(values) > 1 or 0 in out:
        return on_wide(narrow, e, values)
    return changed(e, [value.spread(value.same & kept)], new_sizes=tuple(shape))


def factors(before, after):
    """Pairs of dimensions of two shapes that hold the same elements, as few in each as can be."""
    i = j = 0
    while i < len(before) or j < len(after):
        mine, theirs = [], []
        while (not mine and not theirs) or product(before, mine) != product(after, theirs):
            if i < len(before) and (not mine or product(before, mine) < product(after, theirs)):
                mine.append(i)
                i += 1
            elif j < len(after):
                theirs.append(j)
                j += 1
            else:
                mine.append(i)
                i += 1
        yield mine, theirs


def product(shape, dims):
    return math.prod([shape[d] for d in dims])


def cut(narrow, e, values):
    (value,) = values
    start, end, step = e.params["start_indices"], e.params["limit_indices"], e.params["strides"]
    if 0 in e.outputs[0].aval.shape:
        return on_wide(narrow, e, values)
    put = lambda found, to: tuple([to if d in value.same else n for d, n in enumerate(found)])
    steps = step if step is None else put(step, 1)
    return changed(e, [value.array], start_indices=put(start, 0), limit_indices=put(end, 1), strides=steps)


def concatenate(narrow, e, values):
    along = e.params["dimension"]
    same = frozenset.intersection(*[v.same for v in values])
    if along in same and all(v.array is values[0].array for v in values):
        return [Value(values[0].array, e.outputs[0].aval.shape)]
    return applied(e, [v.spread(same - {along}) for v in values])


def narrow_place(e, state, operands):
    """The part of a narrow state that a load or store is of, its operands, and which dimensions it is all of;
    None where that is not said so simply.
    """
    place = e.params["place"]
    if e.params.get("masked", False) or len(place.steps) > 1:
        return None
    if not place.steps:
        return place, operands, frozenset(range(len(state.wide)))
    index = place.steps[0]
    if not isinstance(index, Index) or index.gathers:
        return None
    given, dims, kept, everything = iter(operands), [], [], set()
    for d, (dim, n) in enumerate(zip(index.dims, state.wide, strict=True)):
        start = [next(given)] if dim.start is None else []
        if dim == Range(0, n):
            everything.add(d)
        if d in state.same:
            dims.append(Range(0, 1) if isinstance(dim, Range) else dataclasses.replace(dim, start=0))
        else:
            dims.append(dim)
            kept += start
    return Place((dataclasses.replace(index, dims=tuple(dims)),)), kept, frozenset(everything)


def load(narrow, e, values):
    state, operands = values[0], [v.array for v in values[1:]]
    found = narrow_place(e, state, operands)
    if found is None or 0 in e.outputs[0].aval.shape:
        return on_wide(narrow, e, values)
    return changed(e, [state.array, *found[1]], place=found[0])


def store(narrow, e, values):
    """A state stays the same along a dimension where all of it is given the same."""
    state, value, operands = values[0], values[1], [v.array for v in values[2:]]
    found = narrow_place(e, state, operands)
    if found is None or 0 in state.wide:
        return on_wide(narrow, e, values)
    steps = e.params["place"].steps
    ranges = [d for d, dim in enumerate(steps[0].dims) if isinstance(dim, Range)] if steps else None
    at = {d: i for i, d in enumerate(ranges if steps else range(len(state.wide)))}
    kept = frozenset([d for d in state.same & found[2] if d in at and at[d] in value.same])
    state = Value(state.spread(kept), state.wide)
    place, operands, _ = narrow_place(e, state, operands)
    there = frozenset([at[d] for d in kept])
    return changed(e, [state.array, value.spread(there), *operands], place=place)


def cond(narrow, e, values):
    index, *given = values
    avals = [v.aval for v in e.inputs[1:]]
    same = [v.same for v in given]
    branches = e.params["branches"]
    found = [narrow.staged(b, avals, same)[1] for b in branches]
    targets = [frozenset.intersection(*each) for each in zip(*found, strict=True)]
    made = tuple([narrow.staged(b, avals, same, targets)[0] for b in branches])
    outs = e.primitive.op(**{**e.params, "branches": made})(index.array, *[v.array for v in given])
    return [Value(x, v.aval.shape) for x, v in zip(outs, e.outputs, strict=True)]


def scan(narrow, e, values):
    n, m = e.params["consts"], e.params["carry"]
    moving = [Value(v.spread(v.same - {0}), v.wide) for v in values[n + m :]]
    values = [*values[: n + m], *moving]
    jaxpr = e.params["jaxpr"]
    same = [*[v.same for v in values[: n + m]], *[frozenset([d - 1 for d in v.same]) for v in moving]]
    made, carry, _ = narrow.settled(jaxpr, [v.aval for v in jaxpr.invars], same, n, m)
    given = [v.spread(s) for v, s in zip(values[n : n + m], carry, strict=True)]
    arrays = [*[v.array for v in values[:n]], *given, *[v.array for v in moving]]
    outs = e.primitive.op(**{**e.params, "jaxpr": made})(*arrays)
    return [Value(x, v.aval.shape) for x, v in zip(outs, e.outputs, strict=True)]


def loop(narrow, e, values):
    a, b = e.params["cond_consts"], e.params["body_consts"]
    body, asked = e.params["body_jaxpr"], e.params["cond_jaxpr"]
    same = [v.same for v in values]
    count = len(values) - a - b
    made, carry, _ = narrow.settled(body, [v.aval for v in body.invars], same[a:], b, count)
    test, _ = narrow.staged(asked, [v.aval for v in asked.invars], [*same[:a], *carry])
    given = [v.spread(s) for v, s in zip(values[a + b :], carry, strict=True)]
    arrays = [*[v.array for v in values[: a + b]], *given]
    outs = e.primitive.op(**{**e.params, "body_jaxpr": made, "cond_jaxpr": test})(*arrays)
    return [Value(x, v.aval.shape) for x, v in zip(outs, e.outputs, strict=True)]


RULES = {
    "broadcast_in_dim": broadcast, "iota": iota, "expand_dims": as_it_is, "squeeze": as_it_is,
    "transpose": as_it_is, "reshape": reshape, "slice": cut, "concatenate": concatenate, "load": load,
    "store": store, "cond": cond, "scan": scan, "while": loop,
}  # fmt: skip


def narrowed(call):
    """A call whose scratch and loops hold once what is the same all along a dimension."""
    kernel = call.kernel
    first = len(kernel.invars) - len(call.scratch)
    same = [all_dimensions(s.state) if s.kind is None else frozenset() for s in call.scratch]
    carries = any(e.primitive.name in ("scan", "while", "cond") for e in kernel.equations)
    if kernel.effects or not (any(same) or carries):
        return call
    narrow, avals = Narrow(), [v.aval for v in kernel.invars]
    none, ends = [frozenset()] * first, len(call.outs)
    try:
        while True:
            _, found = narrow.staged(kernel, avals, [*none, *same])
            now = [a & b for a, b in zip(same, found[ends:], strict=True)]
            if now == same:
                break
            same = now
        if not any(same) and not narrow.gained:
            return call
        made, _ = narrow.staged(kernel, avals, [*none, *same], [*none[:ends], *same])
    except Unsuited:
        return call
    room = zip(call.scratch, same, strict=True)
    scratch = [dataclasses.replace(s, state=narrow_type(s.state, dims)) for s, dims in room]
    return dataclasses.replace(call, kernel=made, scratch=tuple(scratch))


__all__ = ["narrowed"]
