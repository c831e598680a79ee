"""The CPU backend: its value, its settings, and what a process sees of them."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import rabbet as rb
from rabbet_pjrt_cpu import ALLOCATOR, BACKEND, NUM_DEVICES, THREADS

SCRIPT = """
import json, os, sys
import rabbet
from rabbet.config import config
from rabbet_pjrt_cpu.memory import keep_freed_memory
devices = rabbet.devices('cpu')
print(json.dumps({
    'devices': [str(device) for device in devices],
    'threads': len(os.listdir('/proc/self/task')) if os.path.isdir('/proc/self/task') else None,
    'kept': keep_freed_memory.cache_info().misses == 1,
    'doctor': devices[0].client.backend.doctor(),
    'heavy': [name for name in sys.modules if name.split('.')[0] in ('jax', 'scipy') or
    name.startswith('jaxlib.mlir')],
}))
"""


def in_a_process(before="", **environment):
    """What a fresh process with these variables says about its CPU devices, after a line of its own."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("RABBET_")}
    ran = subprocess.run(
        [sys.executable, "-c", f"{before}\n{SCRIPT}"],
        env=inherited | environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_the_value():
    assert (BACKEND.platform, BACKEND.priority) == ("cpu", 0)
    assert BACKEND.obstacle() is None
    assert {"float32", "float64", "int8", "bool"} <= BACKEND.native_dtypes


def test_by_default_there_is_one_device_and_freed_memory_is_kept():
    seen = in_a_process()
    assert seen["devices"] == ["cpu:0"]
    assert seen["kept"]
    assert seen["heavy"] == []


def test_the_environment_sets_devices_and_allocator():
    seen = in_a_process(RABBET_NUM_CPU_DEVICES="3", RABBET_CPU_ALLOCATOR="default")
    assert seen["devices"] == ["cpu:0", "cpu:1", "cpu:2"]
    assert not seen["kept"]


def test_the_program_sets_devices():
    before = "import rabbet; rabbet.config.update('num_cpu_devices', 2)"
    assert in_a_process(before, RABBET_NUM_CPU_DEVICES="3")["devices"] == ["cpu:0", "cpu:1"]


def test_the_environment_sets_the_number_of_threads():
    one, many = (in_a_process(RABBET_CPU_THREADS=n)["threads"] for n in ("1", "7"))
    assert one is None or one < many


def test_what_doctor_says():
    labels = {
        label: (ok, detail) for label, ok, detail in in_a_process(RABBET_CPU_ASYNCHRONOUS="1")["doctor"]
    }
    assert labels["cpu client"][0]
    assert tuple(labels["cpu devices"]) == (True, "1 (RABBET_NUM_CPU_DEVICES)")
    ok, detail = labels["cpu allocator"]
    assert not ok and ("RABBET_CPU_ASYNCHRONOUS" in detail or "not glibc" in detail)


@pytest.mark.parametrize(
    ("setting", "bad", "says"),
    [
        (NUM_DEVICES, "0", "at least 1"),
        (NUM_DEVICES, "many", "at least 1"),
        (THREADS, "0", "at least 1"),
        (ALLOCATOR, "mine", "keep, hold or default"),
    ],
)
def test_settings_refuse_nonsense(setting, bad, says):
    with pytest.raises(ValueError, match=says):
        setting.parse(bad)


def test_settings_are_documented():
    assert NUM_DEVICES.variable == "RABBET_NUM_CPU_DEVICES" and NUM_DEVICES.doc
    assert THREADS.variable == "RABBET_CPU_THREADS" and THREADS.doc
    assert ALLOCATOR.variable == "RABBET_CPU_ALLOCATOR" and ALLOCATOR.doc


LOOP = """
%1:2 = "stablehlo.while"(%0, %arg0) ({
^bb0(%2: tensor<i32>, %3: tensor<f32>):
stablehlo.return %4 : tensor<i1>
}, {
^bb0(%5: tensor<i32>, %6: tensor<f32>):
INSIDE
stablehlo.return %7, %8 : tensor<i32>, tensor<f32>
}) : (tensor<i32>, tensor<f32>) -> (tensor<i32>, tensor<f32>)
"""


@pytest.mark.parametrize("operands", ["%1 : tensor<f32>", "%1, %2 : tensor<f32>, tensor<f32>"])
def test_loops_with_a_barrier_are_not_compiled_as_one_kernel(operands):
    options = BACKEND.program_options
    apart = {"xla_disable_hlo_passes": "small-while-loop-hoisting"}
    barrier = f"%8 = stablehlo.optimization_barrier {operands}"
    main, private = "func.func public @main() {", "func.func private @part() {"
    inside = LOOP.replace("INSIDE", barrier)
    assert options(f"{main}{inside}}}") == apart
    assert options(f"{main}\n{barrier}{inside}}}") == apart
    assert options(f"{main}{LOOP}}}\n{private}\n{barrier}\n}}") == apart, "the loop may call it"
    assert options(f"{main}\n{barrier}{LOOP}{barrier}\n}}") == {}, "outside of loops"
    assert options(f"{main}\n{barrier}\n}}") == options(f"{main}{LOOP}}}") == {}


@pytest.mark.needs("jit")
@pytest.mark.parametrize("kernels", ["quick", "onednn"])
def test_programs_with_other_kernels(kernels):
    x, y = np.random.default_rng(0).standard_normal((2, 96, 96), np.float32)
    product = rb.jit(lambda x, y: rb.lax.tanh(x @ y))
    usual = np.asarray(product(x, y))
    rb.config.update("cpu_kernels", kernels)
    try:
        assert BACKEND.program_options("")
        np.testing.assert_allclose(product(x, y), usual, atol=2e-5)
        np.testing.assert_allclose(rb.jit(lambda x, y: x @ y)(x, y), x @ y, atol=1e-4)
    finally:
        rb.config.update("cpu_kernels", "default")
    assert BACKEND.program_options("") == {}


def test_kernels_that_are_not_there():
    with pytest.raises(rb.errors.ConfigError, match="default, quick, onednn"):
        rb.config.update("cpu_kernels", "mine")


@pytest.mark.needs("jit", "grad")
def test_the_gradient_of_an_elementwise_loop_compiles():
    def step(x, _):
        return rb.lax.sin(x) * x + x, None

    def total(x):
        return rb.lax.reduce_sum(rb.lax.scan(step, x, None, length=3)[0], axes=(0,))

    x = np.linspace(0.0, 0.3, 1024, dtype=np.float32)  # large enough for a barrier in the loop
    y, slope = x, np.ones_like(x)
    for _ in range(3):
        y, slope = np.sin(y) * y + y, slope * (np.cos(y) * y + np.sin(y) + 1)
    np.testing.assert_allclose(rb.jit(rb.grad(total))(x), slope, rtol=2e-5)
