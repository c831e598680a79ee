"""From a lowered program to an executable: shared within a process, and what is said when it fails."""

import gc
import os
import stat
import subprocess
import sys
import tempfile
import threading

import pytest
from rabbet import lax
from rabbet.config import config
from rabbet.errors import CompileError
from rabbet.lowering.host_callbacks import HostCallback
from rabbet.messages import function_names, source_positions
from rabbet.program.avals import ShapedArray
from rabbet.rules.primitive import Primitive
from rabbet.runtime.caching import shared_programs
from rabbet.runtime.caching.shared_programs import Shared
from rabbet.runtime.compilation import compile_failure, program, refused_rules
from rabbet.runtime.platforms import hook_calls
from rabbet.runtime.platforms.devices import default_device
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
    shared_programs.shared.clear()
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
    last = dict(told[-2:])  # `program_ready` comes behind it where a hook plugin is installed
    assert last["program_shared"]["name"] == "doubled"


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
    assert len(shared_programs.shared._values) == 0
    kept = program.compile(lowering(), device)
    shared_programs.shared.clear()
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
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
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
        ('INVALID_ARGUMENT: failed to parse: loc("-":99999:5) of a module within', "test_compiling.py"),
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


# ----------------------------------------------------------------------- the rule that wrote what is refused
WRONG = {
    "a name that no operation has": (
        lambda op, x: op.emit(f"stablehlo.sinee {x} : {op.out.mlir}"),
        ("custom op 'stablehlo.sinee' is unknown", "'%1 = stablehlo.sinee %arg0 : tensor<3xf32>'"),
    ),
    "no grammar": (
        lambda op, x: op.emit(f"stablehlo.sine {x} :: {op.out.mlir}"),
        ("expected non-function type", "stablehlo.sine %arg0 ::"),
    ),
    "a result of another type, which the next operation meets": (
        lambda op, x: op.emit(f"stablehlo.convert {x} : ({op.out.mlir}) -> tensor<3xi32>"),
        ("tensor<3xi32>", "return %1"),
    ),
    "a name that nobody wrote": (lambda op, x: "%zz", ("undeclared SSA value", "return %zz")),
    "what contradicts itself": (
        lambda op, x: op.emit(f'"stablehlo.reshape"({x}) : ({op.out.mlir}) -> tensor<7xf32>'),
        ("tensor<7xf32>",),
    ),
}


def refused_message(function):
    """What is said of a program that has an operation of ``function`` in a branch."""

    def whole(x):
        return [lax.mul(lax.cond(lax.reduce_max(x, axes=(0,)) < 0.0, function, lax.neg, x), 2.0)]

    # With checks some of these never reach the compiler.
    with config.override(enable_checks=False), pytest.raises(CompileError) as caught:
        program.compile(lowering(whole), default_device())
    return str(caught.value)


@pytest.fixture
def strange():
    """Make a primitive with a ``lower`` rule, or a decomposition."""
    made = []

    def make(lower=None, decompose=None):
        primitive = Primitive(f"strange_{len(made)}", lambda x: x, kinds=("elementwise",), doc="a stranger's")
        made.append(primitive)
        if lower is not None:
            primitive.rule("lower")(lower)
        if decompose is not None:
            primitive.decompose(decompose)
        return primitive

    return make


@pytest.mark.parametrize("case", WRONG, ids=list(WRONG))
def test_the_rule_that_wrote_what_is_refused_is_named(case, strange):
    rule, says = WRONG[case]
    primitive = strange(rule)
    message = refused_message(lambda x: primitive(x))
    (told,) = [line for line in message.splitlines() if line.startswith("  rule: ")]
    assert f"the 'lower' rule for primitive {primitive.name!r} ({function_names.address(rule)})" in told
    assert all(part in told for part in says), told


def test_the_rule_is_named_by_the_users_line_and_through_decompositions(strange):
    wrong = strange(lambda op, x: op.emit(f"stablehlo.sinee {x} : {op.out.mlir}"))
    outer = strange(decompose=lambda op, x: lax.add(wrong(x), 1.0))
    called = lambda x: outer(x)
    message = refused_message(called)
    assert f"where: {source_positions.short_path(__file__)}:{called.__code__.co_firstlineno}" in message
    assert f"for primitive {wrong.name!r}" in message


def test_the_rule_is_named_where_the_program_calls_python(strange):
    wrong = strange(lambda op, x: op.emit(f"stablehlo.sinee {x} : {op.out.mlir}"))
    made = lowering(lambda x: [wrong(x)])
    made = made._replace(module=made.module._replace(callbacks=(HostCallback(list, ()),)))
    with pytest.raises(CompileError, match="rule: the 'lower' rule"):
        program.compile(made, default_device())


def test_the_rule_is_named_that_calls_a_function_that_is_not_there(strange):
    wrong = strange(lambda op, x: op.custom_call("no_such_function_anywhere", [x], [op.out])[0])
    message = refused_message(lambda x: wrong(x))
    assert "the function 'no_such_function_anywhere' is not registered" in message
    assert f"for primitive {wrong.name!r}" in message


UNKNOWN_DTYPES = """
import ml_dtypes, numpy as np, rabbet as rb
from rabbet import dtypes, lax
from rabbet.extend.dtype import DTypeSpec

dtypes.table.add(DTypeSpec("float8_e3m4", ml_dtypes.float8_e3m4, "f8E3M4X", "f", bits=8))
dtypes.table.add(DTypeSpec("uint1", ml_dtypes.uint1, "ui1", "u", bits=1))
x = rb.device_put(np.ones(3, ml_dtypes.uint1))
for wrong in (lambda: lax.convert_element_type(1.0, "float8_e3m4"), lambda: lax.add(x, x)):
    try:
        wrong()
    except rb.errors.CompileError as error:
        print(error)
"""


def test_no_rule_is_blamed_for_dtypes_that_the_compiler_does_not_know():
    """One whose name it cannot read, and one of which no operation may have operands."""
    done = subprocess.run([sys.executable, "-c", UNKNOWN_DTYPES], capture_output=True, text=True)
    for dtype, mlir in (("float8_e3m4", "f8E3M4X"), ("uint1", "ui1")):
        wanted = f"the compiler does not know the dtype {dtype!r}, whose DTypeSpec says mlir={mlir!r}"
        assert f"rule: none; {wanted}" in done.stdout, done.stdout + done.stderr


def test_what_is_no_ones_fault_blames_no_rule():
    assert refused_rules.refused(lowering(), "RESOURCE_EXHAUSTED: out of memory") is None
    assert refused_rules.refused(lowering(), "UNKNOWN: -:12:6: error: nothing is wrong with the text") is None
