"""Calls of native functions: their text, finding them in a module, and who is asked to provide them."""

import re

import numpy as np
import pytest
from rabbet import lax
from rabbet.extend.transform import RuleSet
from rabbet.lowering.custom_calls import call_text, column_major, row_major, targets
from rabbet.lowering.module import lower_program
from rabbet.program.avals import ShapedArray
from rabbet.rules.primitive import Primitive
from rabbet.runtime.platforms import backends
from rabbet.runtime.platforms.backends import Backend
from rabbet.runtime.platforms.native_calls import NativeCalls
from rabbet.trace.staging import stage

MATRIX = ShapedArray((2, 3, 3), np.float32)
INFO = ShapedArray((2,), np.int32)


# ---------------------------------------------------------------------------------------------------- text
def test_layouts_go_from_the_fastest_dimension_to_the_slowest():
    assert row_major(3) == (2, 1, 0) and row_major(0) == ()
    assert column_major(3) == (1, 2, 0) and column_major(2) == (0, 1) and column_major(1) == (0,)


def test_the_text_of_a_call():
    text = call_text(
        "lapack_spotrf_ffi", ["%x"], [MATRIX], [MATRIX, INFO], attributes={"uplo": "L", "low": np.int32(1)},
        layouts=([(1, 2, 0)], [(1, 2, 0), (0,)]), aliases={0: 0},
    )  # fmt: skip
    assert text.startswith("stablehlo.custom_call @lapack_spotrf_ffi(%x) {api_version = 4 : i32, ")
    assert "backend_config = {uplo = 76 : ui8, low = 1 : i32}" in text
    assert "operand_layouts = [dense<[1, 2, 0]> : tensor<3xindex>]" in text
    assert "result_layouts = [dense<[1, 2, 0]> : tensor<3xindex>, dense<[0]> : tensor<1xindex>]" in text
    assert "output_tuple_indices = [0], operand_index = 0" in text
    assert text.endswith(": (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2xi32>)")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("U", "85 : ui8"), (True, "true"), (3, "3 : i64"), (np.int8(3), "3 : i8"), (0.5, "0.5 : f64"),
        (np.float32(0.1), "0.1 : f32"), (np.float64(-0.0), "-0.0 : f64"), ("mode", '"mode"'),
        (1e-5, "0x3EE4F8B588E368F1 : f64"), (np.float32("inf"), "0x7F800000 : f32"),
        (np.float32([1.0, 1e-7]), "array<f32: 1.0, 0x33D6BF95>"),
        (np.array([True, False]), "array<i1: true, false>"), (np.zeros(0, np.uint8), "array<ui8>"),
    ],
)  # fmt: skip
def test_attributes(value, shown):
    text = call_text("f", [], [], [INFO], attributes={"a": value}, layouts=None, aliases={})
    assert f"backend_config = {{a = {shown}}}" in text


@pytest.mark.parametrize("value", [np.ones((2, 2)), np.array(1.0), np.complex64(1), object(), None])
def test_what_is_no_attribute_is_refused(value):
    with pytest.raises(TypeError, match="attribute"):
        call_text("f", [], [], [INFO], attributes={"a": value}, layouts=None, aliases={})


def test_text_in_attributes_is_escaped():
    attributes = {"ir": b'a "b"\n\\c', "all": [1, {"x": True}], "v": np.int32([1, 2])}
    text = call_text("with space", [], [], [INFO], attributes=attributes, layouts=None, aliases={})
    assert '@"with space"(' in text
    assert r'ir = "a \22b\22\0A\5Cc"' in text
    assert "all = [1 : i64, {x = true}], v = array<i32: 1, 2>" in text


def test_a_call_of_an_older_kind():
    text = call_text(
        "old", [], [], [INFO], attributes={}, layouts=None, aliases={}, config='{"a": 1}',
        properties={"has_side_effect": True, "kernel_name": b"k"},
    )  # fmt: skip
    assert r'api_version = 1 : i32, backend_config = "{\22a\22: 1}", has_side_effect = true' in text
    with pytest.raises(ValueError, match="attributes and with a config"):
        call_text("old", [], [], [INFO], attributes={"a": 1}, layouts=None, aliases={}, config="")


def test_escaped_text_is_read_as_it_was_meant():
    given = 'say "no"\n\ttwice \\ and é'
    reads = Primitive("reads_text_of_test", lambda x: x)
    reads.rule("lower")(
        lambda op, x: op.custom_call("reader", [x], op.out_avals, attributes={"t": given.encode()})[0]
    )
    text = lower_program(stage(lambda x: [reads(x)], [INFO]).jaxpr, "toaster").key_text
    found = text.partition('t = "')[2].partition('"}')[0]
    plain = re.sub(rb"\\([0-9A-F]{2})", lambda m: bytes([int(m[1], 16)]), found.encode())
    assert plain.decode() == given


def test_packages_provide_calls_for_platforms_that_are_not_theirs(monkeypatch):
    asked = []
    calls = NativeCalls(
        "brown", ("brown_*", "exact"), lambda platform, names: asked.append((platform, names))
    )
    monkeypatch.setattr(backends, "all_native_calls", lambda: [calls])
    backend = Backend("toaster", 0, lambda options: None)
    backend.provide(frozenset(["brown_f32", "exact", "exactly"]))
    backend.provide(frozenset(["white"]))
    assert asked == [("toaster", {"brown_f32", "exact"})]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("stablehlo.add %0, %1", set()),
        ("%2 = stablehlo.custom_call @one(%0) {...}\n stablehlo.custom_call @two(%1)", {"one", "two"}),
        ('%2 = "stablehlo.custom_call"(%0) {call_target_name = "generic"}', {"generic"}),
        ('%2 = stablehlo.custom_call @"quoted name"(%0)', {"quoted name"}),
    ],
)
def test_the_functions_that_a_text_calls(text, names):
    assert targets(text) == names


# ------------------------------------------------------------------------------------------ backend's rules
def test_rules_announced_by_name_are_imported_when_they_are_looked_for(tmp_path, monkeypatch):
    (tmp_path / "announced_of_test.py").write_text("def sin(op, x):\n    return x\n")
    monkeypatch.syspath_prepend(tmp_path)
    rules = RuleSet("lower")
    rules.later("announced_of_test", "sin")
    rules.later("does_not_exist", "cos")
    assert rules.find(lax.tan, "cpu") is None
    assert rules.find(lax.sin, "cpu")("op", "x") == "x"
    strange = Primitive("cosh_of_a_stranger", lambda x: x)
    rules.later("announced_of_test", "cosh_of_a_stranger")  # as core's, which has none
    assert rules.find(strange, "cpu") is None


def calling(name):
    """A primitive that calls the native function ``name``."""
    p = Primitive(f"calls_{name}", lambda x: x)
    p.rule("lower")(lambda op, x: op.custom_call(name, [x], op.out_avals)[0])
    return p


def test_a_call_is_written_with_the_operations_own_types():
    jaxpr = stage(lambda x: [calling("plain")(x)], [MATRIX]).jaxpr
    text = lower_program(jaxpr, "toaster").key_text
    assert "custom_call @plain(%arg0)" in text and "operand_layouts = [dense<[2, 1, 0]>" in text
    assert targets(text) == {"plain"}


def test_the_backend_is_asked_to_provide_what_is_called():
    asked = []
    backend = Backend("toaster", 0, lambda options: None, provide_calls=asked.append)
    backend.provide(frozenset())
    assert asked == []
    backend.provide(frozenset(["brown"]))
    assert asked == [{"brown"}]


def test_programs_ask_before_they_are_compiled(monkeypatch):
    asked = []
    monkeypatch.setattr(Backend, "provide", lambda self, names: asked.append((self.platform, names)))
    with pytest.raises(Exception, match="not_there_of_test"):
        calling("not_there_of_test")(lax.full((2,), 1.0))
    assert asked[-1] == ("cpu", {"not_there_of_test"})
