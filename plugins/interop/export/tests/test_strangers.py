"""Artifacts of strangers, with a right checksum around a program that is damaged or made to do harm."""

import dataclasses
import random

import numpy as np
import pytest
import rabbet as rb
from rabbet import export
from rabbet.errors import CompileError
from rabbet.export import apart, exported
from rabbet.extend.native import from_portable, stablehlo_versions, to_portable

X = np.float32(1)
SUM = """%c = stablehlo.constant dense<0.> : tensor<f32>
%z = stablehlo.reduce(%b init: %c) applies stablehlo.add across dimensions = [{}] :
  ({}, tensor<f32>) -> tensor<f32>"""


@pytest.fixture(scope="module")
def honest():
    return export.export(rb.jit(lambda x: x + 1))(X)


def forged(honest, content):
    """What ``deserialize`` makes of bytes with another program in them."""
    return export.deserialize(dataclasses.replace(honest, mlir_module_serialized=content).serialize())


def program(body, others=""):
    text = f"""module {{ func.func public @main(%x: tensor<f32>) -> tensor<f32> {{
    {body}
    return %z : tensor<f32> }}
    {others} }}"""
    return to_portable(text, stablehlo_versions()[0])


def test_a_damaged_program_is_refused_or_computes(honest):
    rng, refused = random.Random(7), 0
    for _ in range(4):
        content = bytearray(honest.mlir_module_serialized)
        content[rng.randrange(len(content) // 2) :][:4] = b""
        at = rng.randrange(20, len(content))
        content[at : at + 4] = b"\xff" * len(content[at : at + 4])
        try:
            forged(honest, bytes(content)).call(X)
        except (export.ExportError, CompileError):
            refused += 1
    assert refused


@pytest.mark.needs("numpy")
def test_changed_bits_of_an_artifact_are_refused_or_read():
    text = rb.jit(lambda x: (x @ x) + 1).lower(np.ones((3, 3), "f4")).as_text()
    content, refused = to_portable(text, stablehlo_versions().current), 0
    for seed in range(3):
        rng, changed = random.Random(seed), bytearray(content)
        for _ in range(4):
            changed[rng.randrange(30, len(changed))] ^= 1 << rng.randrange(8)
        try:
            assert "module" in from_portable(bytes(changed))
        except ValueError:
            refused += 1
    assert refused


def test_a_reader_that_dies_is_an_error(honest, monkeypatch):
    monkeypatch.setattr("rabbet.runtime.jaxlib.portable.READ", "import os; os.abort()")
    found = forged(honest, program("%z = stablehlo.sine %x : tensor<f32>"))
    with pytest.raises(export.ExportError, match="it ended the process that read it"):
        found.call(X)


def test_a_program_is_read_apart_once(honest, monkeypatch):
    once, calls, read = program("%z = stablehlo.cosine %x : tensor<f32>"), [], exported.read_apart
    monkeypatch.setattr(exported, "read_apart", lambda *given: calls.append(given) or read(*given))
    for _ in range(2):
        assert np.isclose(forged(honest, once).call(X), np.cos(1.0))
    assert len(calls) == 1


def test_a_strange_program_that_is_sound_computes(honest):
    found = forged(honest, program("%z = stablehlo.negate %x : tensor<f32>"))
    assert found.call(X) == -1


@pytest.mark.parametrize(("text", "says"), [
    ("func.func @main() {\ncall @f() : () -> ()\n}\nfunc.func @f() {\ncall @main() : () -> ()\n}",
     "themselves"),
    ("func.func @main() {\ncall @f() : () -> ()\n}\nfunc.func private @f()", "no body"),
    ('func.func @"a b"() {\ncall @"a b"() : () -> ()\n}', "themselves"),
    ('func.func @main() {\n"stablehlo.infeed"(%t)\n}', "waits for the host: stablehlo.infeed"),
    ("%1 = stablehlo.outfeed\n%2 = stablehlo.send\n%3 = stablehlo.recv", "outfeed, .*recv, .*send"),
    ("%0 = stablehlo.custom_call @TopK(%x) : (tensor<f32>) -> tensor<f32>", "TopK does not take"),
])  # fmt: skip
def test_what_the_compiler_does_not_survive_is_refused(text, says):
    with pytest.raises(export.ExportError, match=says):
        apart.check_functions("f", text)


def test_what_it_survives_is_not_refused():
    apart.check_functions("f", """func.func @main() attributes {a} {
      call @f() : () -> ()
    }
    func.func private @f() {
      %0 = stablehlo.custom_call @TopK(%x) : (tensor<5xf32>) -> (tensor<2xf32>, tensor<2xi32>)
    }""")


def test_sizes_beyond_what_can_be_counted_are_refused(honest):
    kind = f"tensor<{2**63 - 1}xf32>"
    body = f"%b = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> {kind}\n" + SUM.format(0, kind)
    with pytest.raises(export.ExportError, match="larger than can be counted"):
        forged(honest, program(body)).call(X)


def test_a_program_that_calls_itself_is_refused(honest):
    call = "%z = func.call @f(%x) : (tensor<f32>) -> tensor<f32>"
    f = f"func.func private @f(%x: tensor<f32>) -> tensor<f32> {{ {call}\nreturn %z : tensor<f32> }}"
    with pytest.raises(export.ExportError, match="its functions call themselves"):
        forged(honest, program(call, f)).call(X)


def test_a_program_without_an_entry_is_refused(honest):
    text = "module { func.func public @other(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> } }"
    with pytest.raises(export.ExportError, match="no function 'main'"):
        forged(honest, to_portable(text, stablehlo_versions()[0])).call(X)
