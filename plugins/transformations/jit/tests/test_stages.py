"""The stages: traced, lowered, compiled. Each can be looked at; the last one takes exactly its own
signature.
"""

import subprocess
import sys

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import PluginError
from rabbet.extend.passes import check

X = np.arange(6, dtype="f4").reshape(2, 3)


def model(params, x, flip=False):
    out = lax.tanh(x * params["w"]) + params["b"]
    return {"out": -out if flip else out, "total": lax.reduce_sum(out, axes=(0, 1))}


PARAMS = {"w": np.float32(2), "b": 1.0}


@pytest.mark.forbidden("disable_jit")
def test_the_stages_compute_what_the_call_computes():
    f = rb.jit(model)
    compiled = f.trace(PARAMS, X).lower().compile()
    for _ in range(2):
        got, wanted = compiled(PARAMS, X), f(PARAMS, X)
        np.testing.assert_allclose(got["out"], wanted["out"])
        np.testing.assert_allclose(got["total"], wanted["total"])


def test_traced_knows_types_and_program():
    traced = rb.jit(model).trace(PARAMS, X)
    check(traced.jaxpr)
    assert traced.fun_name == "model"
    assert traced.out_info == {
        "out": rb.ShapeDtypeStruct((2, 3), "f4"),
        "total": rb.ShapeDtypeStruct((), "f4"),
    }
    assert traced.args_info[0][1].shape == (2, 3)
    assert traced.in_tree == rb.tree.structure(((PARAMS, X), {}))
    assert traced.out_tree == rb.tree.structure({"out": 0, "total": 0})


def test_types_suffice():
    spec = rb.ShapeDtypeStruct((2, 3), "float32")
    compiled = rb.jit(lambda x: x + 1).lower(spec).compile()
    np.testing.assert_array_equal(compiled(X), X + 1)


def test_lowered_text():
    lowered = rb.jit(lambda x: lax.tanh(x), keep_unused=True).lower(X)
    text = lowered.as_text()
    assert "stablehlo.tanh" in text and "tensor<2x3xf32>" in text
    assert "loc(" not in text
    assert "test_stages.py" in lowered.as_text(debug_info=True)
    assert lowered.as_text(dialect="stablehlo") == text
    with pytest.raises(ValueError, match="dialects 'stablehlo' and 'hlo', got 'mhlo'"):
        lowered.as_text(dialect="mhlo")


def test_compiled_text_and_analyses():
    compiled = rb.jit(lambda x: lax.tanh(x) * 2).lower(X).compile()
    assert "HloModule" in compiled.as_text()
    assert compiled.cost_analysis()["flops"] == compiled.flops > 0
    memory = compiled.memory_analysis()
    assert memory.argument_size_in_bytes == memory.output_size_in_bytes == compiled.memory["output"] == 24
    assert compiled.runtime_executable() is not None


def test_a_platform_to_lower_for():
    def f(x, platform="none"):
        return x + len(platform)

    assert rb.jit(f).lower(X, platform="cpu").compile().device.platform == "cpu"
    with pytest.raises(PluginError, match="toaster"):
        rb.jit(f).lower(X, platform="toaster").compile()
    of_its_own = rb.jit(f, static_argnames="platform").lower(X, platform="toaster").compile()
    assert of_its_own(X).tolist() == (X + 7).tolist()


def test_static_arguments_are_fixed_when_lowered():
    lowered = rb.jit(model, static_argnames="flip").lower(PARAMS, X, flip=True)
    compiled = lowered.compile()
    np.testing.assert_allclose(compiled(PARAMS, X)["out"], -np.tanh(2 * X) - 1, rtol=1e-6)
    with pytest.raises(TypeError, match="static arguments were fixed"):
        compiled(PARAMS, X, flip=True)


def test_unused_arguments():
    dropping = rb.jit(lambda x, y: x).lower(X, X)
    keeping = rb.jit(lambda x, y: x, keep_unused=True).lower(X, X)
    assert dropping.as_text().count("%arg1") == 0
    assert keeping.as_text().count("%arg1") > 0
    for lowered in (dropping, keeping):
        np.testing.assert_array_equal(lowered.compile()(X, X + 1), X)


def test_captured_arrays():
    held = rb.device_put(X)
    compiled = rb.jit(lambda x: x + held).lower(X).compile()
    np.testing.assert_array_equal(compiled(X), 2 * X)


def test_compiler_options():
    lowered = rb.jit(lambda x: x + 1).lower(X)
    compiled = lowered.compile(compiler_options={"xla_cpu_enable_fast_math": True})
    np.testing.assert_array_equal(compiled(X), X + 1)
    with pytest.raises(Exception, match="no_such_option"):
        lowered.compile(compiler_options={"xla_no_such_option": True})


# ---------------------------------------------------------------------------------------- refused calls
@pytest.fixture
def compiled():
    def scaled(x, by):
        return x * by["factor"]

    return rb.jit(scaled).lower(X, {"factor": np.float32(2)}).compile()


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        ((X.T.copy(), {"factor": np.float32(2)}), ["f32[2,3]", "f32[3,2]", "argument 'x'"]),
        ((X.astype("i4"), {"factor": np.float32(2)}), ["f32[2,3]", "i32[2,3]", "argument 'x'"]),
        ((X, {"factor": np.int32(2)}), ["f32[]", "i32[]", "['factor']"]),
        ((X, {"factor": X}), ["f32[]", "f32[2,3]", "['factor']"]),
        ((X,), ["structure"]),
        ((X, {"scale": np.float32(2)}), ["structure", "scale"]),
        ((X, np.float32(2)), ["structure"]),
    ],
)
def test_another_signature_is_refused(compiled, args, parts):
    with pytest.raises(TypeError) as caught:
        compiled(*args)
    message = str(caught.value)
    assert "scaled" in message and "test_stages.py" in message
    for part in parts:
        assert part in message


@pytest.mark.narrow
def test_arguments_seen_before_are_checked_once_and_others_again():
    compiled = rb.jit(lambda x, y: (x + y, x)).lower(*[np.zeros(3, np.float32)] * 2).compile()
    x, y = rb.device_put(np.arange(3, dtype=np.float32)), rb.lax.full((3,), 2.0)
    for a, b in [(x, y), (x, y), (y, x), (x, np.ones(3, np.float32)), (x, y)]:
        total, first = compiled(a, b)
        np.testing.assert_array_equal(total, np.asarray(a) + np.asarray(b))
        np.testing.assert_array_equal(first, a)
        assert total.committed is (a.committed or getattr(b, "committed", False))
    with pytest.raises(TypeError, match="takes f32\\[3\\] for argument 'y', got f32\\[2\\]"):
        compiled(x, y[:2])
    with pytest.raises(TypeError, match="arguments of the structure"):
        compiled((x, y))


@pytest.mark.narrow
def test_a_number_of_the_right_type_is_accepted(compiled):
    np.testing.assert_array_equal(compiled(X, {"factor": 3.0}), X * 3)


@pytest.mark.forbidden("disable_jit")
def test_a_tracer_is_refused_with_advice(compiled):
    with pytest.raises(TypeError, match=r"compiled function .*scaled.*under a transformation"):
        rb.jit(lambda x: compiled(x, {"factor": np.float32(2)}))(X)


def test_an_object_is_refused(compiled):
    with pytest.raises(TypeError, match="object is not an array"):
        compiled(object(), {"factor": 2.0})


@pytest.mark.narrow
def test_a_deleted_array_is_refused(compiled):
    x = rb.device_put(X)
    x.delete()
    with pytest.raises(rb.errors.DeletedArrayError, match=r"f32\[2,3\]"):
        compiled(x, {"factor": 2.0})


FIRST_TRACE = """
import sys
import rabbet as rb
rb.jit(lambda x: x + 1).trace(rb.ShapeDtypeStruct((2,), "float32")).lower()
print(*sys.modules)
"""


def test_the_first_trace_loads_nothing_that_only_few_programs_ask_for():
    done = subprocess.run([sys.executable, "-c", FIRST_TRACE], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "rabbet_jit.stages" in loaded
    asked_for = {"concurrent.futures", "rabbet_jit.argument_info", "rabbet_jit.layouts"}
    assert not asked_for & loaded
