"""Calls that have one form that may be exported: they are written in it, whatever their config holds."""

import pytest
import rabbet as rb
from rabbet import export
from rabbet.export import stable_calls
from rabbet.extend.native import NativeCalls
from rabbet.extend.primitive import Primitive
from rabbet.extend.rules import mlir_string

SHAPE = rb.ShapeDtypeStruct((4,), "float32")
TEXT = 'a "quoted" text, a \\ and ü'


def calling(target, config):
    p = Primitive(f"{target}_of_test_stable", lambda x: x, doc="a call")
    p.rule("lower")(lambda op, x: op.custom_call(target, [x], [op.out], config=config)[0])
    return p


@pytest.mark.needs("jit", "cpu")
def test_a_config_is_rewritten_by_the_package_that_provides_the_call(monkeypatch):
    seen = []

    def stable(config):
        seen.append(config)
        return f"stable: {config}"

    form = NativeCalls("of_test", ("needs_a_form",), stable=stable)
    calls = [form, NativeCalls("other", ("kept",), stable=True)]
    for module in (stable_calls, export.checks):
        monkeypatch.setattr(module, "all_native_calls", lambda: calls)
    f = lambda x: calling("kept", TEXT)(calling("needs_a_form", TEXT)(x))
    exported = export.export(rb.jit(f))(SHAPE)
    assert seen == [TEXT]
    text = str(exported.mlir_module())
    assert text.count("stable: ") == 1 and text.count("quoted") == 2


def test_strings_of_mlir_are_read_and_written():
    for text in (TEXT, '{"body": "AA=="}', "line\nand\ttab"):
        assert stable_calls.plain(mlir_string(text)[1:-1]) == text
    assert stable_calls.plain(r"\22x\22 \\ \n") == '"x" \\ \n'
