"""Effects in programs: declared, collected, printed, kept, and threaded by tokens."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.passes import Equation, Jaxpr, Var, stage
from rabbet.extend.primitive import Effect, Primitive, write_python_call
from rabbet.lowering.module import lower_program
from rabbet.lowering.target import Target
from rabbet.passes.dead_code import eliminate_dead_code
from rabbet.program.avals import ShapedArray
from rabbet.program.effects import ordered
from rabbet.runtime.arrays import callback_errors
from rabbet.runtime.execution import effects

from . import toys

F = ShapedArray((), np.dtype("float32"))
LOG = Effect("log_of_test_effects", ordered=True)
SEEN = []

# What a package of its own can write: a primitive with an ordered effect, lowered to a call of Python.
log = Primitive("log_of_test_effects", lambda x, tag: (), multiple_results=True, effects=[LOG])


@log.rule("evaluate")
def log_now(op, x):
    SEEN.append((op.params["tag"], float(x)))
    return []


@log.rule("lower")
def lower_log(op, x):
    return write_python_call(op, lambda arrays: log_now(op, *arrays), [x], LOG)


@pytest.fixture(autouse=True)
def nothing_seen():
    SEEN.clear()


def program(x):
    log(x, tag="first")

    def step(c, _):
        toys.jit(lambda v: log(v, tag="call"))(c)
        lax.cond(c > 1.5, lambda v: log(v, tag="large"), lambda v: [], c)
        return c + 1.0, None

    x, _ = lax.scan(step, x, length=2)
    log(x, tag="last")
    return [x]


EXPECTED = [
    ("first", 1.0), ("call", 1.0), ("call", 2.0), ("large", 2.0), ("last", 3.0),
]  # fmt: skip


def test_a_strangers_ordered_effect_keeps_its_order_eagerly_and_compiled():
    assert program(rb.device_put(np.float32(1)))[0] == 3.0
    assert SEEN == EXPECTED
    SEEN.clear()
    assert toys.jit(program)(np.float32(1))[0] == 3.0
    rb.effects_barrier()
    assert SEEN == EXPECTED


def test_the_program_says_what_it_does():
    jaxpr = stage(program, [F]).jaxpr
    assert jaxpr.effects == {LOG}
    assert ordered(jaxpr.effects) == (LOG,)
    text = str(jaxpr)
    assert text.splitlines()[1].strip() == "log_of_test_effects[tag=first] a"
    assert text.splitlines()[-1].endswith(") with effects ordered log_of_test_effects }")


def test_a_program_made_by_hand_finds_its_effects():
    a = Var(F)
    assert Jaxpr([a], [a], [Equation(log.op(tag="x"), [a], [])]).effects == {LOG}
    assert Jaxpr([a], [a], []).effects == frozenset()


def test_dead_code_elimination_keeps_every_equation_with_an_effect():
    def fn(x):
        log(lax.sin(x), tag="a")
        lax.cos(x)
        lax.cond(x > 0, lambda: log(x, tag="b"), list)
        return [x]

    names = [e.primitive.name for e in eliminate_dead_code(stage(fn, [F]).jaxpr).equations]
    assert "cos" not in names and {"sin", "log_of_test_effects", "cond"} <= set(names)


def test_tokens_go_through_functions_branches_and_loops():
    text = lower_program(stage(program, [F]).jaxpr, Target("cpu", python_call="call_python")).text
    assert text.count("stablehlo.create_token") == 1
    main = next(line for line in text.splitlines() if "func.func public" in line)
    assert "token" not in main
    private = next(line for line in text.splitlines() if "func.func private" in line)
    assert private.count("!stablehlo.token") == 2
    (loop,) = [line for line in text.splitlines() if line.startswith("}) : (") and "tensor<f32>" in line]
    assert loop.count("!stablehlo.token") == 2


def test_an_effect_need_not_be_ordered_and_depends_on_parameters():
    tell = Primitive(
        "tell_of_test_effects",
        lambda x, loudly: (),
        multiple_results=True,
        effects=lambda loudly: [Effect("sound")] if loudly else [],
    )
    assert tell.kinds == ("effect",)
    assert stage(lambda x: tell(x, loudly=True), [F]).effects == {Effect("sound")}
    assert stage(lambda x: tell(x, loudly=False), [F]).effects == frozenset()
    silent = Primitive("silent_of_test_effects", lambda x: x)
    assert silent.effects_of({}) == frozenset()


def test_effects_are_values():
    assert Effect("a", True) == Effect("a", ordered=True) != Effect("a")
    assert str(Effect("a", True)) == "ordered a" and str(Effect("a")) == "a"


class Failed:
    """The token of a program that runs beside Python and whose callback raised."""

    def __init__(self, error):
        self.text = str(callback_errors.put_aside(error))

    def block_until_ready(self):
        raise RuntimeError(self.text)


def test_what_was_told_by_a_result_is_not_told_again_by_the_next_program():
    told, new = Failed(KeyError("told")), Failed(KeyError("new"))
    assert isinstance(callback_errors.original(RuntimeError(told.text)), KeyError)
    effects.started(told, (LOG,))
    effects.wait_for((LOG,))
    effects.started(new, (LOG,))
    with pytest.raises(RuntimeError, match=r"callback failure \d+"):
        effects.wait_for((LOG,))
    for error in ("told", "new"):
        with pytest.raises(KeyError, match=error):
            effects.effects_barrier()
    effects.effects_barrier()
