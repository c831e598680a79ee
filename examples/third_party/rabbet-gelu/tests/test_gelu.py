"""The kernel against the formula; the pass in the pipeline, on what it fuses and on what it leaves."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.passes import all_passes, stage
from rabbet.testing import Row, check_pass, check_primitive
from rabbet.testing.draws import some
from rabbet_gelu import PASS, fused_gelu, gelu

X = np.linspace(-4, 4, 33, dtype=np.float32)


def formula(x):
    x = x.astype(np.float64)
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def text_of(f, *args):
    return rb.jit(f).lower(*args).as_text()


def test_the_primitive_keeps_every_promise():
    check_primitive(Row(fused_gelu, formula, (some(2, 3),), ("float32", "float64", "float16"), orders=2))


def test_a_gelu_of_anybody_is_one_call():
    text = text_of(gelu, X)
    assert "rabbet_gelu_f32" in text and "tanh" not in text
    np.testing.assert_allclose(rb.jit(gelu)(X), formula(X), rtol=2e-6, atol=1e-7)


def test_within_loops_and_mapped_functions():
    twice = lambda x: lax.scan(lambda c, _: (gelu(c), None), x, None, length=2)[0]
    assert "rabbet_gelu_f32" in text_of(twice, X)
    np.testing.assert_allclose(rb.jit(twice)(X), formula(formula(X)), rtol=1e-5, atol=1e-6)
    assert text_of(rb.vmap(gelu), X.reshape(3, 11)).count("@rabbet_gelu_f32") == 1


@pytest.mark.parametrize(
    "f",
    [
        lambda x: lax.mul(x, lax.mul(lax.add(lax.tanh(x), 1.0), 0.5)),
        lambda x: (gelu(x), lax.tanh(lax.mul(lax.add(x, lax.mul(lax.integer_pow(x, 3), 0.044715)), 0.79)))[1],
        lambda x: gelu(x.astype("float64")) if rb.config.enable_x64 else gelu(x.astype("float16")),
    ],
)
def test_nothing_else_is_touched(f):
    assert "rabbet_gelu" not in text_of(f, X)


def test_programs_without_results_go_through():
    rb.jit(lambda: None)()
    rb.jit(rb.jit(lambda x: None))(X)


def test_a_derivative_beside_the_value_keeps_its_steps():
    loss = lambda x: lax.reduce_sum(gelu(x), (0,))
    with rb.config.override(enable_checks=True):
        assert "rabbet_gelu" not in text_of(rb.value_and_grad(loss), X)
        slope = (formula(X + 1e-3) - formula(X - 1e-3)) / 2e-3
        np.testing.assert_allclose(rb.jit(rb.grad(loss))(X), slope, rtol=2e-3, atol=1e-3)


def test_the_kit_and_the_switch():
    (ours,) = [p for p in all_passes() if p.name == "fused-gelu"]
    assert ours is PASS
    assert check_pass(ours, [gelu], acts=True).changed == 1
    with rb.config.override(disable_passes="fused-gelu"):
        assert "tanh" in text_of(gelu, X)
    program = stage(lambda x: [lax.exp(x)], [rb.typeof(X)]).jaxpr
    assert PASS.run(program, None) is program


def test_what_it_costs_is_known_before_it_is_compiled():
    found = rb.jit(gelu).lower(X).cost_analysis()
    assert (found["flops"], found["transcendentals"]) == (8 * 33, 33)


def test_a_fresh_process_loads_the_function_for_a_program_that_is_kept(tmp_path):
    program = (
        "import numpy as np, rabbet as rb, rabbet_gelu\n"
        "print(round(float(rb.jit(rabbet_gelu.gelu)(np.float32([1.0]))[0]), 4))\n"
    )
    cache = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    for _ in range(2):  # compiled, then loaded
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=cache)
        assert done.stdout.strip() == "0.8412", done.stderr
