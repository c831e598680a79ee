"""Compiling for hardware that is not here, as far as it can be tried without such a compiler. With them:
tests/aot.
"""

from types import SimpleNamespace

import pytest
import rabbet as rb
from rabbet.errors import PluginError
from rabbet.extend.sharding import SingleDeviceSharding, topology_devices
from rabbet.runtime.arrays import memory_report
from rabbet_jit.ahead_of_time import CompiledAhead

X = rb.ShapeDtypeStruct((4, 8), "float32")


def f(x):
    return rb.lax.reduce_sum(rb.lax.exp(x), axes=(0,))


def test_a_platform_that_is_no_compiler():
    with pytest.raises(
        PluginError, match="'cpu' does not compile for hardware that is not here; leave topology= out"
    ):
        rb.jit(f).trace(X).lower(platforms=("cpu",)).compile(topology="any")


def test_a_platform_that_is_not_installed():
    lowered = rb.jit(f).trace(X).lower(platforms=("toaster",))
    assert "stablehlo.exponential" in lowered.as_text()
    with pytest.raises(PluginError, match=r"no installed package offers platform 'toaster'\n  installed"):
        lowered.compile(topology="any")
    with pytest.raises(PluginError, match=r"to compile for hardware elsewhere, name it: compile\(topology="):
        lowered.compile()
    with pytest.raises(ValueError, match="was lowered for toaster and cannot be compiled for cpu:0"):
        lowered.compile(device=rb.devices("cpu")[0])


def test_what_is_refused():
    traced = rb.jit(f).trace(X)
    with pytest.raises(ValueError, match=r"one platform, as in platforms=\('cpu',\)"):
        traced.lower(platforms=("cpu", "tpu"))
    with pytest.raises(ValueError, match="one platform"):
        traced.lower(lowering_platforms=("cpu", "tpu"))
    with pytest.raises(ValueError, match="got platforms='cpu'"):
        traced.lower(platforms="cpu")
    with pytest.raises(TypeError, match="a device or a topology"):
        traced.lower().compile(device=rb.devices("cpu")[0], topology="h100")


def test_a_compiled_function_that_cannot_be_called(monkeypatch):
    sizes = {"argument_size_in_bytes": 128, "peak_memory_in_bytes": 160}
    executable = SimpleNamespace(
        device_kind="Toaster 2", topology="2x2",
        cost_analysis=lambda: {"flops": 7.0}, memory_analysis=lambda: sizes,
        hlo_text=lambda: "HloModule", serialize=lambda: b"bytes",
    )  # fmt: skip
    monkeypatch.setattr("rabbet_jit.ahead_of_time.compile_ahead", lambda *args: executable)
    compiled = rb.jit(f).trace(X).lower(platforms=("toaster",)).compile(topology="2x2")
    assert type(compiled) is CompiledAhead
    assert (compiled.flops, compiled.memory) == (7.0, {"argument": 128, "peak": 160})
    assert compiled.memory_analysis().peak_memory_in_bytes == 160
    assert (compiled.as_text(), compiled.serialize()) == ("HloModule", b"bytes")
    assert compiled.out_info.shape == (8,)
    with pytest.raises(
        RuntimeError, match=r"f .*was compiled for Toaster 2 \(toaster '2x2'\), which is not on"
    ):
        compiled(1.0)


@pytest.mark.needs("cpu")
def test_one_device_that_is_not_here():
    there = topology_devices("cpu", "4")
    x = X.update(sharding=SingleDeviceSharding(there[2]))
    for compiled in (rb.jit(f).lower(x).compile(), rb.jit(f).lower(X).compile(device=there[2])):
        assert (type(compiled), compiled.topology) == (CompiledAhead, "4")
        assert compiled.memory["argument"] == 128 and "HloModule" in compiled.as_text()
        assert compiled.runtime_executable().local_devices() == [there[2].raw]
        with pytest.raises(RuntimeError, match=r"for cpu \(cpu '4'\), which .* for devices of this machine"):
            compiled(1.0)


def test_the_largest_arrays():
    lowered = rb.jit(lambda x: rb.lax.fori_loop(0, 3, lambda i, y: y + f(x), x[0])).trace(X).lower()
    (first, second, *_), report = memory_report.largest(lowered.lowering.jaxpr), memory_report.lines
    assert (first[:2], second[:2]) == ((128, "f32[4,8]"), (128, "f32[4,8]"))
    assert {first[2].split(",")[0], second[2].split(",")[0]} == {"argument 0", "exp"}
    assert "128 B  f32[4,8]  exp, " in "\n".join(report(lowered.lowering.jaxpr))
    assert "test_ahead_of_time.py:" in "\n".join(report(lowered.lowering.jaxpr))


@pytest.mark.parametrize(
    "count,shown", [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (3 << 40, "3.0 TiB")]
)
def test_numbers_of_bytes(count, shown):
    assert memory_report.in_units(count) == shown
