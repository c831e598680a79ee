"""From a lowered program to an executable: shared within a process, and what is said when it fails."""

import gc
import os
import stat
import threading

import pytest
from rabbet import lax
from rabbet.config import config
from rabbet.errors import CompileError
from rabbet.program.avals import ShapedArray
from rabbet.runtime import compile_failure, hook_calls, program
from rabbet.runtime.devices import default_device
from rabbet.runtime.shared_programs import Shared
from rabbet.trace.staging import stage

F = ShapedArray((3,), "float32")


def doubled(x):
    return [lax.mul(x, 2.0)]


def lowering(function=doubled, name="doubled", **how):
    return program.lower(stage(function, [F]).jaxpr, "cpu", name, **how)


@pytest.fixture
def told(monkeypatch):
    """What the hooks are told, in order."""
    events = []
    monkeypatch.setattr(hook_calls, "notify", lambda hook, **facts: events.append((hook, facts)))
    program.shared.clear()
    return events


def hooks(told):
    return [hook for hook, _ in told]


# ------------------------------------------------------------------------------------- once per process
def test_equal_programs_are_compiled_once(told):
    device = default_device()
    first = program.compile(lowering(), device)
    second = program.compile(lowering(), device)
    assert first.exe is second.exe
    assert (first.origin == "process", second.origin) == (False, "process")
    assert hooks(told).count("compile_finished") == 1
    assert hooks(told)[-1] == "program_shared"


@pytest.mark.parametrize(
    "other",
    [
        {"donated": (0,)},
        {"name": "another"},
        {"function": lambda x: [lax.mul(x, 3.0)]},
    ],
    ids=["donation", "name", "constant"],
)
def test_other_programs_are_compiled_themselves(told, other):
    device = default_device()
    first = program.compile(lowering(), device)
    assert program.compile(lowering(**other), device).exe is not first.exe


def test_other_options_are_other_programs(told):
    device = default_device()
    first = program.compile(lowering(), device)
    fast = program.compile(lowering(), device, {"xla_cpu_enable_fast_math": True})
    assert fast.exe is not first.exe
    assert program.compile(lowering(), device, {"xla_cpu_enable_fast_math": True}).exe is fast.exe


def test_what_nobody_uses_is_forgotten(told):
    device = default_device()
    program.compile(lowering(), device)
    gc.collect()
    assert len(program.shared._values) == 0
    kept = program.compile(lowering(), device)
    program.shared.clear()
    assert program.compile(lowering(), device).exe is not kept.exe


def test_threads_wait_for_the_first():
    shared, made, gate = Shared(), [], threading.Event()

    class Value:
        pass

    def make():
        gate.wait(10)
        made.append(Value())
        return made[-1]

    found = []
    threads = [threading.Thread(target=lambda: found.append(shared.get("key", make))) for _ in range(4)]
    for t in threads:
        t.start()
    gate.set()
    for t in threads:
        t.join()
    assert len(made) == 1
    assert sorted([was_there for _, was_there in found]) == [False, True, True, True]


def test_after_a_failure_the_next_one_tries():
    shared = Shared()

    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        shared.get("key", fail)
    value = Shared()
    assert shared.get("key", lambda: value) == (value, False)


# ------------------------------------------------------------------------------------------- the stages
def test_the_hooks_hear_how_long_each_stage_took(told):
    made = lowering()
    program.compile(made, default_device())
    facts = dict(told)
    assert facts["lower_finished"]["name"] == "doubled" and facts["lower_finished"]["platform"] == "cpu"
    assert facts["lower_finished"]["seconds"] == made.seconds > 0 <= made.pass_seconds
    assert facts["compile_started"]["module_size"] == len(made.module.text)
    assert facts["compile_finished"]["name"] == "doubled"


# --------------------------------------------------------------------------------------------- failures
def broken(message_in_text):
    """A lowering whose text the compiler refuses."""
    made = lowering()
    text = made.module.text.replace("stablehlo.multiply", message_in_text)
    return made._replace(module=made.module._replace(text=text, key_text=text))


def line():
    return f"test_compiling.py:{doubled.__code__.co_firstlineno + 1}"


def test_a_failure_has_the_message_the_line_the_passes_and_the_text(tmp_path):
    with config.override(cache_dir=str(tmp_path)), pytest.raises(CompileError) as caught:
        program.compile(broken("stablehlo.multiplyy"), default_device())
    message = str(caught.value)
    assert "custom op 'stablehlo.multiplyy' is unknown" in message
    assert line() in message
    assert "dead-code" in message
    (saved,) = (tmp_path / "failed").iterdir()
    assert str(saved) in message and "stablehlo.multiplyy" in saved.read_text()
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600


def test_a_failure_of_a_program_that_a_pass_has_broken(tmp_path):
    made = broken("stablehlo.multiplyy")
    jaxpr = made.jaxpr
    unsound = type(jaxpr)(jaxpr.invars, jaxpr.outvars, jaxpr.equations * 2)
    with config.override(cache_dir=str(tmp_path)), pytest.raises(CompileError) as caught:
        program.compile(made._replace(jaxpr=unsound), default_device())
    assert "one of the passes broke the program (" in str(caught.value)
    assert "RABBET_DISABLE_PASSES" in str(caught.value)


def test_a_failure_where_the_cache_cannot_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr(compile_failure.tempfile, "tempdir", str(tmp_path))
    (tmp_path / "file").touch()
    folder = str(tmp_path / "file")
    with config.override(cache_dir=folder, cache=False), pytest.raises(CompileError) as caught:
        program.compile(broken("stablehlo.multiplyy"), default_device())
    saved = [p for p in tmp_path.iterdir() if p.name.startswith("rabbet-doubled")]
    assert len(saved) == 1 and os.fspath(saved[0]) in str(caught.value)
    assert stat.S_IMODE(saved[0].stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ("UNKNOWN: model.py:13:5: error: out of range", "model.py:13"),
        ('INTERNAL: at loc("model.py":14:5)', "model.py:14"),
        ('metadata={op_name="x" source_file="model.py" source_line=15}', "model.py:15"),
        ("UNIMPLEMENTED: mul of this kind", "(mul)"),
        ("RESOURCE_EXHAUSTED", "test_compiling.py"),
    ],
)
def test_the_users_line(message, says):
    assert says in compile_failure.where(lowering(), message)


def test_a_function_that_is_called_by_a_name_nobody_knows():
    made = lowering()
    text = made.module.text.replace("stablehlo.multiply ", "stablehlo.custom_call @nope(")
    made = made._replace(module=made.module._replace(text=text))
    assert line() in compile_failure.where(made, "NOT_FOUND: No FFI handler registered for nope on Host")
