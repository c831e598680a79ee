"""Why a function was traced, and how long each stage took: for people, and for hook plugins."""

import functools
import logging
import os
import re
import subprocess
import sys

import numpy as np
import pytest
import rabbet as rb
import rabbet_jit.explain
from rabbet import lax
from rabbet.runtime.platforms import hook_calls

X = np.arange(3, dtype="f4")


@pytest.fixture
def lines(caplog):
    """A function that returns what was explained since it was last asked."""

    def explained():
        said = [r.getMessage() for r in caplog.records]
        caplog.clear()
        return [s.removeprefix("explain: ") for s in said if s.startswith("explain: ")]

    with rb.config.override(explain=True), caplog.at_level(logging.WARNING, "rabbet"):
        yield explained


@pytest.fixture
def told(monkeypatch):
    """What hook plugins are told."""
    events = []
    elsewhere = "pass_finished", "transferred"  # which passes there are differs, and how arrays came here

    def notify(hook, **facts):
        if hook not in elsewhere:
            events.append((hook, facts))

    monkeypatch.setattr(hook_calls, "notify", notify)
    monkeypatch.setattr(hook_calls, "_listening", lambda: True)
    return events


def reason(lines):
    """The reason of the last trace."""
    (line,) = [s for s in lines() if s.startswith("tracing ")]
    return line.partition("): ")[2]


def scaled(params, x, n=2):
    return lax.mul(lax.mul(params["w"], x), params["w"].dtype.type(n))


def first_call():
    f = rb.jit(functools.partial(scaled), static_argnames="n")
    f({"w": X}, X)
    return f


@pytest.mark.forbidden("disable_jit")
def test_every_stage_has_a_line(lines):
    def f(x):
        return lax.sin(x)

    rb.jit(f)(X)
    site = f"test_explain.py:{f.__code__.co_firstlineno}"
    tracing, traced, lowered, compiled = lines()
    assert re.search(rf"^tracing .*f \(.*{site}\): first call$", tracing)
    assert re.fullmatch(r"traced f in [\d.]+ ms: 1 equations", traced)
    assert re.fullmatch(r"lowered f for cpu in [\d.]+ ms, [\d.]+ of them in passes", lowered)
    assert re.match(r"(compiled|loaded|took) f for cpu:0 ", compiled)


@pytest.mark.forbidden("disable_jit")
@pytest.mark.parametrize(
    ("args", "kwargs", "says"),
    [
        (({"w": X[:2]}, X), {}, "argument 'params'['w']: shape (3,) became (2,)"),
        (({"w": X}, X[:1]), {}, "argument 'x': shape (3,) became (1,)"),
        (({"w": X}, X > 0), {}, "argument 'x': dtype float32 became bool"),
        (({"w": X}, np.float32(1)), {}, "argument 'x': shape (3,) became ()"),
        (({"w": X}, X), {"n": 3}, "static argument 'n' was not given, is 3"),
        (({"w": X, "b": X}, X), {}, "argument 'params'['b'] is new"),
        (({"v": X, "w": X}, X), {"n": 3}, "argument 'params'['v'] is new; static argument 'n'"),
        (({"w": X},), {"x": X}, "keyword argument 'x' is new; positional argument 1 is gone"),
    ],
    ids=["shape", "shape of x", "dtype", "scalar", "static", "leaf", "two things", "keyword"],
)
def test_what_changed_in_the_call(lines, args, kwargs, says):
    f = first_call()
    lines()
    try:
        f(*args, **kwargs)
    except TypeError:  # not all of these can be multiplied: they are traced all the same
        pass
    assert reason(lines).startswith(says)


@pytest.mark.narrow
@pytest.mark.forbidden("disable_jit")
def test_weak_types(lines):
    f = rb.jit(lambda x: lax.neg(x))
    f(1.0)
    lines()
    f(np.float32(1))
    assert reason(lines) == "argument 'x': weak type True became False"


@pytest.mark.forbidden("disable_jit")
def test_containers(lines):
    f = rb.jit(lambda pair: lax.neg(pair[0]))
    f((X, X))
    lines()
    f([X, X])
    assert "the structure of the arguments was" in reason(lines)


@pytest.mark.narrow
@pytest.mark.forbidden("disable_jit")
def test_settings_and_named_axes(lines):
    f = rb.jit(lambda x: lax.neg(x))
    f(X)
    lines()
    with rb.enable_x64():
        f(X)
    assert reason(lines) == "the setting enable_x64 was False, is True"
    rb.make_jaxpr(f, axis_env=[("i", 2)])(X)
    assert any("named axes around the call were none" in s for s in lines())


@pytest.mark.forbidden("disable_jit")
def test_the_most_similar_trace_is_the_one_to_compare_with(lines):
    f = rb.jit(lambda x, y: lax.neg(x))
    f(X, X)
    f(X[:2], X[:1])
    lines()
    f(X, X[:1])
    assert reason(lines).count("became") == 1


@pytest.mark.forbidden("disable_jit")
def test_many_differences_are_counted(lines):
    f = rb.jit(lambda *xs: xs[0])
    f(*[X] * 7)
    lines()
    f(*[X[:2]] * 7)
    assert reason(lines).endswith(", and 3 more")


@pytest.mark.forbidden("disable_jit")
def test_a_function_object_made_anew_each_time(lines):
    for _ in range(2):
        rb.jit(lambda x: lax.neg(x))(X)
    said = "\n".join(lines())
    assert "first call of a new function object, number 2" in said and "call jit once" in said


@pytest.mark.forbidden("disable_jit")
def test_a_function_whose_programs_were_forgotten(lines):
    f = rb.jit(lambda x: lax.neg(x))
    f(X)
    f.clear_cache()
    lines()
    f(X)
    assert "its programs were forgotten" in reason(lines)


def test_nothing_is_said_of_calls_that_trace_nothing(lines):
    f = first_call()
    lines()
    f({"w": X}, X)
    assert lines() == []


def test_it_is_off_by_default(caplog):
    assert rb.config.explain is False
    with caplog.at_level(logging.WARNING, "rabbet"):
        first_call()
    assert caplog.records == []


def explained(script, **environment):
    """What a process that runs ``script`` explains."""
    ran = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "RABBET_EXPLAIN": "1", **environment},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [line for line in ran.stderr.splitlines() if line.startswith("explain: ")]


@pytest.mark.forbidden("disable_jit")
def test_another_device():
    script = """
import rabbet as rb
import rabbet_jit.explain
f = rb.jit(lambda x: rb.lax.sin(x))
for device in rb.devices():
    f(rb.device_put(0.0, device))
"""
    lines = explained(script, RABBET_NUM_CPU_DEVICES="2")
    assert any(line.endswith("was compiled for cpu:0, and now runs on cpu:1") for line in lines)
    assert sum(line.startswith("explain: tracing") for line in lines) == 1


@pytest.mark.forbidden("disable_jit")
def test_the_variable_shows_it_and_another_process_finds_the_program_on_disk(tmp_path):
    script = "import rabbet as rb; print(rb.jit(lambda x: rb.lax.sin(x))(0.0))"
    *_, compiled = first = explained(script, RABBET_CACHE_DIR=str(tmp_path))
    assert len(first) == 4 and "explain: compiled <lambda> for cpu:0 in" in compiled
    *_, loaded = explained(script, RABBET_CACHE_DIR=str(tmp_path))
    assert re.fullmatch(r"explain: loaded <lambda> for cpu:0 in [\d.]+ ms from the cache on disk", loaded)


# ------------------------------------------------------------------------------------------------ hooks
@pytest.mark.forbidden("disable_jit")
def test_hooks_hear_of_the_stages_in_their_order(told):
    rb.jit(lambda x: lax.sin(x))(X)
    names = [hook for hook, _ in told]
    assert names[:3] == ["trace_started", "trace_finished", "lower_finished"]
    facts = dict(told)
    assert facts["trace_started"] == {"name": "<lambda>", "reason": facts["trace_started"]["reason"]}
    assert facts["trace_finished"]["seconds"] > 0


@pytest.mark.forbidden("disable_jit")
def test_a_trace_that_fails_is_finished_too(told):
    def f(x):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        rb.jit(f)(X)
    assert [hook for hook, _ in told] == ["trace_started", "trace_finished"]


def compiles(told):
    return sum(hook == "compile_finished" for hook, _ in told)


@pytest.mark.forbidden("disable_jit")
def test_equal_programs_are_compiled_once(told):
    def made():
        return rb.jit(lambda x: lax.mul(lax.sin(x), 1.25))

    first, second = made(), made()
    np.testing.assert_array_equal(first(X), second(X))
    assert compiles(told) == 1
    assert [hook for hook, _ in told].count("program_shared") == 1


@pytest.mark.forbidden("disable_jit")
def test_donating_is_another_program(told):
    def made(**how):
        return rb.jit(lambda x: lax.mul(lax.sin(x), 1.5), **how)

    plain, donating = made(), made(donate_argnums=0)
    x = rb.device_put(X)
    expected = np.asarray(plain(x))
    np.testing.assert_array_equal(donating(rb.device_put(X)), expected)
    assert compiles(told) == 2
    assert not x.is_deleted()


def test_captured_arrays_are_no_part_of_an_equal_program(told):
    def adding(held):
        return rb.jit(lambda x: lax.add(x, held))

    large = np.ones((100, 8), np.float32)
    for k, f in enumerate([adding(rb.device_put(k * large)) for k in range(3)]):
        np.testing.assert_array_equal(f(large), (k + 1) * large)
    assert compiles(told) <= 1
    told.clear()
    for k, f in enumerate([adding(rb.device_put(k * X)) for k in range(6)]):
        np.testing.assert_array_equal(f(X), (k + 1) * X)
    assert compiles(told) <= 3  # two have them written into the program


@pytest.mark.forbidden("disable_jit")
def test_definitions_of_ever_new_files_are_not_all_remembered(lines, monkeypatch):
    monkeypatch.setattr("rabbet_jit.explain.MOST_SITES", 4)
    for cell in range(20):
        made = {"lax": lax}
        exec(compile("def f(x): return lax.neg(x)", f"cell {cell}", "exec"), made)
        rb.jit(made["f"])(X)
        assert reason(lines) == "first call"
    assert 0 < len(rabbet_jit.explain._seen) <= 4
