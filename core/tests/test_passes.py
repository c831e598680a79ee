"""Passes: in what order they run, that one can be switched off, and who is blamed when one breaks a
program.
"""

import pickle
import signal

import numpy as np
import pytest
import rabbet as rb
from rabbet import config, lax
from rabbet.errors import JaxprTypeError, PluginError
from rabbet.extend.passes import (
    Equation,
    Jaxpr,
    Pass,
    PassContext,
    Var,
    check,
    consts_as_inputs,
    evaluate,
    stage,
)
from rabbet.extend.primitive import Primitive
from rabbet.passes import pipeline
from rabbet.passes.dead_code import eliminate_dead_code
from rabbet.program.avals import ShapedArray

from . import toys

F = ShapedArray((), "float32")


def make(name, log=None, **how):
    """A pass that only writes down that it ran."""

    def run(jaxpr, context):
        if log is not None:
            log.append((name, context.platform))
        return jaxpr

    return Pass(name, run, **how)


def order(*passes):
    return [p.name for p in pipeline.ordered(passes)]


@pytest.fixture
def installed(monkeypatch):
    """Install passes for one test."""

    def install(*passes):
        monkeypatch.setattr(pipeline, "_finder", lambda: passes)
        monkeypatch.setattr(pipeline, "_ordered", None)

    return install


def program(fn, *avals):
    return stage(lambda *xs: [fn(*xs)], avals or (F,)).jaxpr


# ---------------------------------------------------------------------------------------------- the order
def test_without_wishes_the_order_given_is_kept():
    assert order(make("c"), make("a"), make("b")) == ["c", "a", "b"]


def test_after_and_before():
    assert order(make("a", after=("b",)), make("b")) == ["b", "a"]
    assert order(make("a"), make("b", before=("a",))) == ["b", "a"]
    assert order(make("a", after=("c",)), make("b", before=("c",)), make("c")) == ["b", "c", "a"]


def test_wishes_about_passes_that_are_not_installed_are_ignored():
    assert order(make("a", after=("missing",)), make("b", before=("other",))) == ["a", "b"]


def test_a_circle_is_an_error_that_shows_it():
    with pytest.raises(PluginError) as caught:
        order(make("a", after=("b",)), make("b", after=("c",)), make("c", after=("a",)))
    message = str(caught.value)
    assert "each have to run before the next" in message
    assert all(f"{name}" in message for name in "abc") and message.count(" -> ") >= 2
    with pytest.raises(PluginError, match="a -> a"):
        order(make("a", after=("a",)))


def test_two_passes_of_one_name_are_an_error():
    with pytest.raises(PluginError, match="two passes are called 'twice'"):
        order(make("twice"), make("twice"))


def test_installed_passes_run_with_core_s_own(installed):
    log = []
    installed(make("late", log, after=("dead-code",)), make("early", log, before=("dead-code",)))
    assert [p.name for p in pipeline.all_passes()] == ["early", "dead-code", "late"]
    pipeline.run(program(lax.sin), "cpu")
    assert log == [("early", "cpu"), ("late", "cpu")]


# ------------------------------------------------------------------------------------------- running them
def test_a_pass_may_be_for_some_platforms_only(installed):
    log = []
    installed(make("gpu", log, platforms=("cuda", "rocm")), make("any", log))
    pipeline.run(program(lax.sin), "cpu")
    pipeline.run(program(lax.sin), "cuda")
    assert log == [("any", "cpu"), ("gpu", "cuda"), ("any", "cuda")]


def test_passes_are_switched_off_and_on_by_name(installed):
    log = []
    installed(make("one", log), make("two", log), make("rare", log, default=False))

    def ran(**settings):
        log.clear()
        with config.override(**settings):
            pipeline.run(program(lax.sin), "cpu")
        return [name for name, _ in log]

    assert ran() == ["one", "two"]
    assert ran(disable_passes="two, dead-code,") == ["one"]
    assert ran(enable_passes=("rare",)) == ["one", "two", "rare"]
    assert ran(enable_passes="rare", disable_passes="rare") == ["one", "two"]


def test_a_name_that_no_pass_has_is_answered_with_the_known_ones(installed):
    installed(make("one"))
    for setting in ("disable_passes", "enable_passes"):
        wanted = pytest.warns(UserWarning, match=f"{setting} names 'twwo'.*the passes are dead-code, one")
        with config.override(**{setting: "twwo"}), wanted as caught:
            pipeline.run(program(lax.sin), "cpu")
        assert caught[0].filename == __file__


def test_which_passes_run_is_part_of_the_key_of_compiled_programs():
    plain = config.traced_key()
    with config.override(disable_passes="one"):
        assert config.traced_key() is not plain
    assert config.traced_key() is plain


def test_what_a_pass_is_told(installed):
    told = []
    installed(Pass("curious", lambda jaxpr, context: told.append(context) or jaxpr))
    given = PassContext("tpu", {"xla_x": 1}, {})
    pipeline.run(program(lax.sin), given)
    pipeline.run(program(lax.sin), "cpu")
    assert told == [given, PassContext("cpu")] and not told[1].options and not told[1].constants


def test_who_watches_applies_every_pass(installed):
    installed(make("late", after=("dead-code",)))
    jaxpr = stage(lambda x: [x, lax.sin(x)][:1], [F]).jaxpr
    seen = []

    def watch(one, jaxpr, context):
        result = one.run(jaxpr, context)
        seen.append((one.name, len(jaxpr.equations), len(result.equations)))
        return result

    before = pipeline.set_watch(watch)
    try:
        pipeline.run(jaxpr, "cpu")
    finally:
        assert pipeline.set_watch(before) is watch
    pipeline.run(jaxpr, "cpu")
    ours = [entry for entry in seen if entry[0] in ("dead-code", "late")]
    assert ours == [("dead-code", 1, 0), ("late", 0, 0)]


def test_dead_code_elimination_can_be_switched_off():
    jaxpr = stage(lambda x: [x, lax.sin(x)][:1], [F]).jaxpr
    assert len(pipeline.run(jaxpr, "cpu").equations) == 0
    with config.override(disable_passes="dead-code"):
        assert len(pipeline.run(jaxpr, "cpu").equations) == 1


def test_a_pass_that_raises_is_named_with_the_way_out(installed):
    def fail(jaxpr, context):
        raise IndexError("in the pass")

    installed(Pass("fragile", fail))
    with pytest.raises(IndexError) as caught:
        toys.jit(lambda x: x * 3.0)(1.0)
    assert caught.value.__notes__ == [
        f"in the pass 'fragile' of {__name__}; switch it off with RABBET_DISABLE_PASSES=fragile"
    ]


def test_a_pass_that_a_signal_interrupts_is_not_blamed(installed):
    def handler(number, frame):
        raise TimeoutError("it takes too long")

    before = signal.signal(signal.SIGINT, handler)
    try:
        installed(Pass("interrupted", lambda jaxpr, context: signal.raise_signal(signal.SIGINT)))
        with pytest.raises(TimeoutError) as caught:
            toys.jit(lambda x: x * 3.0)(1.0)
    finally:
        signal.signal(signal.SIGINT, before)
    assert "in the pass" not in "".join(getattr(caught.value, "__notes__", ()))


def test_a_pass_that_breaks_the_program_is_named_where_checks_are_on(installed):
    def drop_everything(jaxpr, context):
        return Jaxpr(jaxpr.invars, jaxpr.outvars, [])

    installed(Pass("vandal", drop_everything))
    with rb.enable_checks(True), pytest.raises(JaxprTypeError, match="before it is defined") as caught:
        toys.jit(lambda x: x * 4.0)(1.0)
    assert "in the pass 'vandal'" in caught.value.__notes__[0]


def test_a_pass_that_breaks_the_program_is_named_when_that_cannot_be_lowered(installed):
    def drop_everything(jaxpr, context):
        return Jaxpr(jaxpr.invars, jaxpr.outvars, [])

    installed(make("innocent"), Pass("vandal", drop_everything))
    with pytest.raises(JaxprTypeError, match="before it is defined") as caught:
        toys.jit(lambda x: x * 4.5)(1.0)
    (note,) = caught.value.__notes__
    assert "'vandal'" in note and "RABBET_DISABLE_PASSES=vandal" in note


def test_no_pass_is_blamed_for_a_program_that_was_broken_before(installed):
    installed(make("innocent"))
    jaxpr = program(lambda x: lax.sin(lax.cos(x)))
    pipeline.blame(Jaxpr(jaxpr.invars, jaxpr.outvars, jaxpr.equations[1:]), PassContext("cpu"))
    pipeline.blame(jaxpr, PassContext("cpu"))


def test_a_pass_that_returns_no_program_is_named(installed):
    installed(Pass("forgetful", lambda jaxpr, context: None))
    with pytest.raises(PluginError, match="the pass 'forgetful' must return a Jaxpr, it returned NoneType"):
        pipeline.run(program(lax.sin), "cpu")


def test_a_pass_that_changes_the_interface_is_named(installed):
    def drop_inputs(jaxpr, context):
        return Jaxpr([], jaxpr.outvars[:0], [])

    installed(Pass("shrinking", drop_inputs))
    with pytest.raises(PluginError, match="the pass 'shrinking' changed the inputs or outputs"):
        pipeline.run(program(lax.sin), "cpu")


def test_a_rewriting_pass_changes_what_runs(installed):
    def sines_to_cosines(jaxpr, context):
        swapped = [
            Equation(lax.cos.op() if e.primitive is lax.sin else e.op, e.inputs, e.outputs, e.where)
            for e in jaxpr.equations
        ]
        return check(Jaxpr(jaxpr.invars, jaxpr.outvars, swapped, jaxpr.constvars, jaxpr.effects, jaxpr.name))

    installed(Pass("sines-to-cosines", sines_to_cosines))
    assert float(toys.jit(lambda x: lax.sin(x) + 5.0)(0.0)) == 6.0


def test_a_pass_shows_what_it_is():
    p = make("named", doc="one sentence", platforms=("tpu",))
    assert (p.name, p.doc, p.platforms) == ("named", "one sentence", ("tpu",))
    assert "named" in repr(p) and "function" not in repr(p)


def test_core_s_own_pass_pickles_as_do_programs_that_keep_it():
    assert pickle.loads(pickle.dumps(pipeline.DEAD_CODE)) == pipeline.DEAD_CODE


# ---------------------------------------------------------------------------------------------- dead code
def test_what_nobody_reads_is_dropped():
    def fn(x, y):
        z = lax.sin(x)
        lax.cos(z)
        return [x + y, z][:1]

    jaxpr = stage(fn, [F, F]).jaxpr
    lean = check(eliminate_dead_code(jaxpr))
    assert [e.primitive.name for e in lean.equations] == ["add"]
    assert lean.invars == jaxpr.invars and lean.name == jaxpr.name
    assert [e.primitive.name for e in jaxpr.equations] == ["sin", "cos", "add"]


def test_a_program_without_dead_code_is_returned_as_it_is():
    jaxpr = program(lambda x: lax.sin(x) * 2.0)
    assert eliminate_dead_code(jaxpr) is jaxpr


def test_effects_stay():
    noisy = Primitive("noisy_of_test_passes", lambda x: x, kinds=("effect",))

    def fn(x):
        noisy(lax.sin(x))
        toys.jit(lambda y: noisy(y))(x)
        toys.jit(lambda y: lax.sin(y))(x)
        return [x]

    lean = check(eliminate_dead_code(stage(fn, [F]).jaxpr))
    assert [e.primitive.name for e in lean.equations] == ["sin", "noisy_of_test_passes", "jit"]


def test_an_equation_of_which_one_result_is_read_stays():
    two = Primitive("two_of_test_passes", lambda x: (x, x), multiple_results=True)
    two.decompose(lambda op, x: [x, lax.sin(x)])
    lean = eliminate_dead_code(stage(lambda x: [two(x)[1]], [F]).jaxpr)
    assert len(lean.equations) == 1


def test_dead_code_changes_no_value():
    def fn(x, y):
        a = x * y
        lax.exp(a)
        b = a + ONES
        lax.reduce_sum(b, (0,))
        return [b - y]

    ONES = np.ones(3, np.float32)
    body = consts_as_inputs(stage(fn, [ShapedArray((3,), "float32")] * 2))
    args = [ONES, ONES * 2, ONES * 3]
    assert evaluate(eliminate_dead_code(body), args)[0].tolist() == evaluate(body, args)[0].tolist()
    assert type(eliminate_dead_code(body).invars[0]) is Var
