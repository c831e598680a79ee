"""The pass alone, in the pipeline, switched off, and on programs that are none of its business."""

import subprocess
import sys

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.passes import PassContext, check
from rabbet_roots import ROOTS

X = np.float32([0.25, 1.0, 9.0])


def after(fn, *args):
    """The names of the operations of `fn` when the pass has run, and the checker after it."""
    jaxpr = rb.make_jaxpr(fn)(*args).jaxpr
    return [eqn.primitive.name for eqn in check(ROOTS.run(jaxpr, PassContext("cpu"))).equations]


def test_a_reciprocal_of_a_square_root_is_one_operation():
    assert after(lambda x: 1.0 / lax.sqrt(x), X) == ["sqrt", "rsqrt"]
    assert after(lambda x: 1 / lax.sqrt(x) + lax.sqrt(x), X).count("rsqrt") == 1


@pytest.mark.parametrize("fn", [lambda x: 2.0 / lax.sqrt(x), lambda x: 1.0 / lax.cbrt(x), lax.sqrt])
def test_nothing_else_is_touched(fn):
    jaxpr = rb.make_jaxpr(fn)(X).jaxpr
    assert ROOTS.run(jaxpr, PassContext("cpu")) is jaxpr


def test_programs_go_through_it_unless_it_is_switched_off():
    fn = lambda x: 1.0 / lax.sqrt(x)
    text = rb.jit(fn).lower(X).as_text()
    assert "stablehlo.rsqrt" in text and "stablehlo.sqrt" not in text
    with rb.config.override(disable_passes="roots-at-once"):
        assert "stablehlo.rsqrt" not in rb.jit(fn).lower(X).as_text()


def test_it_changes_no_result_and_no_derivative():
    def fn(x):
        return (1.0 / lax.sqrt(x)).sum()

    with rb.config.override(enable_checks=True):
        np.testing.assert_allclose(rb.jit(fn)(X), (1 / np.sqrt(X)).sum(), rtol=1e-6)
        np.testing.assert_allclose(rb.jit(rb.grad(fn))(X), -0.5 * X**-1.5, rtol=1e-6)


def test_it_is_listed_before_the_pass_that_drops_what_it_leaves():
    listed = subprocess.run([sys.executable, "-m", "rabbet", "passes"], capture_output=True, text=True).stdout
    assert listed.index("roots-at-once") < listed.index("dead-code")
