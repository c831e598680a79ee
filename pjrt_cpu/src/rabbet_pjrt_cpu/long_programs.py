"""Long programs are cut into functions, because XLA:CPU takes them whole and does not live through it.

What: the equations of a program, or of a body, that are more than `LONGEST` become calls of functions of
about `PIECE` equations each, cut where the fewest bytes cross. The compiler keeps them by themselves
(`inlineable = "false"`), so that nothing that it does is deeper or longer than one of them.

XLA fuses what stands before each result of a function into one loop and copies what several of them share. A
piece of 1,000 equations with 300 results, such as the forward part of a gradient, would become a hundred
thousand. So pieces are shorter the more of their equations the results have in common (`copied`).

Calls are counted with what they call, since XLA copies that into the caller. Operations with effects stay
where they are.
"""

from itertools import accumulate

from rabbet.extend.passes import Equation, Jaxpr, Pass, Var, bodies_of, effects_of
from rabbet.extend.primitive import Primitive

LONGEST = 10_000
PIECE = 1000
COPIED = 1000  # what a piece may be with all copies; one result has no copies
SHORTEST = 20  # which is not cut further
APART = '{mhlo.frontend_attributes = {inlineable = "false"}}'

piece = Primitive(
    "piece", lambda *avals, jaxpr: jaxpr.out_avals, kinds=("body",), multiple_results=True,
    doc="a part of a long program, which the compiler keeps by itself",
)  # fmt: skip


@piece.rule("lower")
def lower_piece(op, *names):
    return op.call(op["jaxpr"], names, op["jaxpr"].name, attributes=APART)


def cut_up(jaxpr, context):
    """`jaxpr` as calls of pieces; itself if it is short enough."""
    if size(jaxpr) <= LONGEST:
        return jaxpr
    last, end, equations = last_uses(jaxpr), 0, []
    for stretch in stretches(jaxpr, last):
        end += len(stretch)
        if len(stretch) > 1 or (stretch[0].op.primitive.is_call and not effects_of(stretch[0].op)):
            needed = {v for eqn in stretch for v in eqn.outputs if last.get(v, -1) >= end}
            stretch = [call(stretch, needed, f"{jaxpr.name}_{len(equations)}")]
        equations += stretch
    return Jaxpr(jaxpr.invars, jaxpr.outvars, equations, jaxpr.constvars, jaxpr.effects, jaxpr.name)


def size(jaxpr):
    """How many equations a program has, with those of the functions that it calls."""
    calls = [eqn.op for eqn in jaxpr.equations if eqn.op.primitive.is_call]
    return len(jaxpr.equations) + sum([size_of_bodies(op) for op in calls])


def size_of_bodies(op):
    return sum([body.once("size", lambda b=body: size(b)) for _, body in bodies_of(op)])


def weight(eqn):
    """For how many equations one counts."""
    return 1 + size_of_bodies(eqn.op) if eqn.op.primitive.is_call else 1


def stretches(jaxpr, last):
    """The equations of a program in stretches: what becomes one piece, or one equation with effects."""
    crossing = bytes_crossing(jaxpr, last)
    equations, start = jaxpr.equations, 0
    for i, eqn in enumerate(equations):
        if eqn.op.primitive.special and effects_of(eqn.op):
            yield from pieces(equations, start, i, crossing, last)
            yield [eqn]
            start = i + 1
    yield from pieces(equations, start, len(equations), crossing, last)


def pieces(equations, start, end, crossing, last):
    """`equations[start:end]` cut into pieces of at most `PIECE`, or shorter where these have more than
    `COPIED` equations with all copies.
    """
    room = PIECE
    while start < end:
        room = min(2 * room, PIECE)
        cut = best_cut(equations, start, end, crossing, room)
        while room > SHORTEST and copied(equations[start:cut], last, cut) > COPIED:
            room //= 2
            cut = best_cut(equations, start, end, crossing, room)
        yield equations[start:cut]
        start = cut


def best_cut(equations, start, end, crossing, room):
    """Where a piece of at most `room` ends: where the fewest bytes cross, not before half of that."""
    i, total, half = start, 0, start + 1
    while i < end and (i == start or total + weight(equations[i]) <= room):
        total += weight(equations[i])
        i += 1
        if total <= room // 2:
            half = i
    return end if i == end else min(range(i, half - 1, -1), key=crossing.__getitem__)


def copied(stretch, last, end):
    """How many equations these become if each value that is read from `end` on has all that it is made of
    for itself.
    """
    made_of, total = {}, 0  # for each variable the numbers of the equations, as bits
    for i, eqn in enumerate(stretch):
        needed = 1 << i
        for v in eqn.inputs:
            if type(v) is Var:
                needed |= made_of.get(v, 0)
        made_of.update(dict.fromkeys(eqn.outputs, needed))
        if max([last.get(v, -1) for v in eqn.outputs], default=-1) >= end:
            total += needed.bit_count()
    return total


def last_uses(jaxpr):
    """For each variable the index of the last equation that reads it; of outputs the number of equations."""
    last = {}
    for i, eqn in enumerate(jaxpr.equations):
        last.update(dict.fromkeys([v for v in eqn.inputs if type(v) is Var], i))
    last.update(dict.fromkeys([v for v in jaxpr.outvars if type(v) is Var], len(jaxpr.equations)))
    return last


def bytes_crossing(jaxpr, last):
    """For each place before an equation the bytes that are made before and read from there on."""
    change = [0] * (len(jaxpr.equations) + 2)
    for i, eqn in enumerate(jaxpr.equations):
        for v in eqn.outputs:
            if last.get(v, i) > i:
                change[i + 1] += v.aval.nbytes
                change[last[v] + 1] -= v.aval.nbytes
    return list(accumulate(change))


def call(stretch, needed, name):
    """The equation that calls a function of these equations. `needed`: the variables that are read later."""
    made = {v for eqn in stretch for v in eqn.outputs}
    given = dict.fromkeys([v for eqn in stretch for v in eqn.inputs if type(v) is Var and v not in made])
    outputs = [v for eqn in stretch for v in eqn.outputs if v in needed]
    new = {v: Var(v.aval) for v in (*given, *made)}
    equations = [
        Equation(eqn.op, [new.get(v, v) for v in eqn.inputs], [new[v] for v in eqn.outputs], eqn.where)
        for eqn in stretch
    ]
    body = Jaxpr([new[v] for v in given], [new[v] for v in outputs], equations, (), None, name)
    return Equation(piece.op(jaxpr=body), list(given), outputs, stretch[0].where)


PASS = Pass(
    "long-programs", cut_up, platforms=("cpu",),
    after=("dead-code", "cse", "fold", "weight-dots-2d", "outline"),
    doc="cut programs that are too long for the compiler into functions",
)  # fmt: skip
