"""What must hold of a pass: programs mean the same after it, also differentiated; and what it gains."""

from collections import Counter
from typing import NamedTuple

import numpy as np

from rabbet import config, lax
from rabbet.errors import JaxprTypeError, PluginError
from rabbet.extend.passes import Pass, bodies_of, check, consts_as_inputs, effects_of, evaluate, stage
from rabbet.extend.primitive import Effect, Primitive, call_op
from rabbet.extend.transform import typeof
from rabbet.testing import checks, driver
from rabbet.testing.draws import device_array
from rabbet.testing.laws import LawError


class Gain(NamedTuple):
    """What a pass did to the programs that it was tried on.

    Args:
      before, after: equations of all programs together, those of bodies included.
      changed: how many programs it changed.
      programs: how many there were.

    Example:
      >>> from rabbet.testing import Gain
      >>> gain = Gain(before=40, after=30, changed=2, programs=4)
      >>> gain.before - gain.after
      10
    """

    before: int
    after: int
    changed: int
    programs: int


UNARY: tuple = (
    lax.sin,
    lax.tanh,
    lax.neg,
    lax.abs,
    lax.exp,
    lambda x: lax.mul(x, 1.0),
    lambda x: lax.neg(lax.neg(x)),
)
BINARY: tuple = (lax.add, lax.sub, lax.mul, lax.max)


def random_program(seed, size=8, depth=2):
    """A function of one float array to one: ``size`` operations chosen by chance, among them calls, branches
    and loops of such programs up to ``depth``.

    Example:
      >>> from rabbet.testing.passes import random_program
      >>> random_program(3)(rb.device_put(np.float32([0.5, 1.0]))).shape
      (2,)
    """
    rng = np.random.default_rng(seed)

    def made(size, depth):
        steps = []
        for _ in range(size):
            inside = depth and rng.random() < 0.3
            steps.append((nested if inside else plain)(rng, made, depth))

        def program(x):
            values = [x]
            for step in steps:
                values.append(step(values))
            return lax.tanh(lax.add(values[-1], values[0]))  # stays small, whatever came before

        return program

    return made(size, depth)


def plain(rng, made, depth):
    if rng.random() < 0.5:
        f, back = UNARY[rng.integers(len(UNARY))], int(rng.integers(1, 4))
        return lambda values: f(lax.tanh(values[-min(back, len(values))]))
    combine, i, j = BINARY[rng.integers(len(BINARY))], int(rng.integers(1, 5)), int(rng.integers(1, 5))
    return lambda values: combine(values[-min(i, len(values))], values[-min(j, len(values))])


def nested(rng, made, depth):
    body = made(3, depth - 1)
    kind = rng.integers(4)
    if kind == 0:
        return lambda values: called(body, values[-1])
    if kind == 1:
        other = made(2, depth - 1)
        return lambda values: lax.cond(lax.gt(lax.reduce_sum(values[-1], (0,)), 0.0), body, other, values[-1])
    if kind == 2:
        return lambda values: lax.scan(lambda c, _: (body(c), None), values[-1], None, length=2)[0]
    return lambda values: lax.fori_loop(0, 2, lambda i, c: body(c), values[-1])


def called(body, x):
    """A call of a program, as one equation."""
    closed = stage(lambda x: [body(x)], [typeof(x).strong()], "body")
    return call_op(consts_as_inputs(closed), "body")(*closed.consts, x)[0]


def check_pass(one, programs=None, *, platform="cpu", acts=False, tolerance=1e-5):
    """A pass keeps what programs compute, and their derivatives; what it returns is a sound program, and its
    argument is left alone.

    Args:
      one: a ``Pass``.
      programs: functions of one float32 array of 3 numbers to one array, which may capture arrays; by
        default random ones, with calls, branches and loops (``random_program``), one with equations without
        inputs and with several outputs, and one with effects.
      platform: what the programs are for.
      acts: True: it is an error if the pass changes none of the programs. A pass that returns the equations
        that it was given has not changed a program.
      tolerance: relative, for the results.

    Returns:
      a ``Gain``.

    Raises:
      LawError: names the program and what does not hold.

    Example:
      >>> from rabbet.extend.passes import Pass
      >>> from rabbet.testing import check_pass
      >>> check_pass(Pass("nothing", lambda jaxpr, context: jaxpr), [lax.sin]).changed
      0
    """
    if not isinstance(one, Pass):
        what = f"{type(one).__name__} {one!r:.60}"
        raise TypeError(f"check_pass takes a rabbet.extend.passes.Pass, got {what}")
    ours = [random_program(seed) for seed in range(4)] + [of_odd_equations, of_effects]
    programs = ours if programs is None else list(programs)
    x = device_array(np.array([0.5, -1.25, 2.0], np.float32))
    before_all = after_all = changed = 0
    with config.override(enable_checks=True):
        for number, fn in enumerate(programs):
            label = f"{one.name} on program {number}"
            closed = stage(lambda x, fn=fn: [fn(x)], [typeof(x)], f"program {number}")
            before, args = consts_as_inputs(closed), [*closed.consts, x]
            after = applied(one, before, platform, label)
            before_all, after_all = before_all + equations(before), after_all + equations(after)
            changed += str(after) != str(before)
            for law, (got, wanted) in {
                "results": (evaluate(after, args), evaluate(before, args)),
                "derivatives": (moved(after, args), moved(before, args)),
            }.items():
                for a, b in zip(got, wanted, strict=True):
                    checks.compare(f"{label}: {law}", a, b, tolerance)
    if acts and not changed:
        raise LawError(
            f"{one.name} changed none of {len(programs)} programs\n  if it should have: the primitive of an "
            "equation is a name of rabbet.extend.primitive; some names of rabbet.lax, such as integer_pow, "
            "are functions around one"
        )
    return Gain(before_all, after_all, changed, len(programs))


def applied(one, before, platform, label):
    """What the pass makes of a program, which must be sound and leave its argument alone."""
    text = str(before)
    try:
        after = one.apply(before, platform)
        check(after)
    except (JaxprTypeError, PluginError) as error:
        raise LawError(f"{label}: {error}") from error
    if str(before) != text:
        raise LawError(f"{label}: it changed its argument; a pass returns another program")
    if before.in_avals != after.in_avals or before.out_avals != after.out_avals:
        raise LawError(f"{label}: it changed the inputs or outputs")
    had, has = effects_in(before), effects_in(after)
    lost = list((Counter(had) - Counter(has)).elements())
    if lost:
        raise LawError(f"{label}: it dropped an operation with the effect {lost[0]!r}, which has to stay")
    in_order = [[e for e in effects if e.ordered] for effects in (had, has)]
    if in_order[0] != in_order[1] and Counter(had) == Counter(has):
        raise LawError(f"{label}: it changed the order of operations with ordered effects")
    return after


def effects_in(jaxpr):
    """The effects of the equations of a program, those of bodies included, in their order; what carries a
    body is counted by what is in it.
    """
    found = []
    for eqn in jaxpr.equations:
        inside = [effect for _, body in bodies_of(eqn.op) for effect in effects_in(body)]
        found += inside or sorted(effects_of(eqn.op), key=str)
    return found


NOTE = Effect("note of check_pass", ordered=True)
note = Primitive(
    "note_of_check_pass", lambda x: (), multiple_results=True, effects=[NOTE], doc="does nothing"
)


@note.rule("evaluate")
def note_now(op, x):
    return []


@note.rule("lower")
def lower_note(op, x):
    return []


@note.rule("jvp")
def note_value(op, x):
    return op(x.primal)


def of_effects(x):
    """A program with an equation that has an effect and no output, also within a branch."""
    note(x)
    y = lax.cond(lax.gt(lax.reduce_sum(x, (0,)), 0.0), noted, noted_negative, x)
    note(y)
    return lax.sin(y)


def noted(x):
    note(x)
    return lax.mul(x, 1.0)


def noted_negative(x):
    note(lax.neg(x))
    return lax.neg(lax.neg(x))


def of_odd_equations(x):
    """A program with an equation without inputs and one with several outputs."""
    steps = lax.convert_element_type(lax.iota(np.dtype("int32"), typeof(x).shape[0]), np.float32)
    carry, stack = lax.scan(lambda c, _: (lax.mul(c, 0.5), c), lax.add(x, steps), None, length=2)
    return lax.add(carry, lax.reduce_sum(stack, (0,)))


def moved(jaxpr, args):
    """The tangents of a program's results, for a tangent of ones of the last argument."""
    *held, x = args
    return driver.jvp(lambda x: tuple(evaluate(jaxpr, [*held, x])), (x,), (lax.full_like(x, 1),))[1]


def equations(jaxpr):
    """How many equations a program has, with those of its bodies."""
    return sum(1 + sum(equations(body) for _, body in bodies_of(eqn.op)) for eqn in jaxpr.equations)


__all__ = ["Gain", "check_pass", "random_program"]
