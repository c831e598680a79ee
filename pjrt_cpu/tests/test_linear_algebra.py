"""LAPACK on the CPU: asked for when a program needs it, once for a whole batch, also for programs on disk."""

import os
import subprocess
import sys

import pytest
from rabbet import lax
from rabbet.extend.backend import lower_program, provide_lapack
from rabbet.extend.passes import stage
from rabbet.extend.primitive import ShapedArray
from rabbet_pjrt_cpu import LOWERINGS, lowering

linalg = pytest.importorskip("rabbet.lax.linalg", reason="the package rabbet-linalg is not installed")

PLAIN = """
import sys
from rabbet import lax
assert float(lax.add(1.0, 2.0)) == 3.0
print([name for name in ("scipy", "jaxlib.lapack", "rabbet_pjrt_cpu.lowering", "rabbet.lax.linalg")
       if name in sys.modules])
"""

FACTOR = """
import numpy as np
from rabbet import lax
x = lax.full((2, 2), 1.0)
x = lax.add(x, lax.convert_element_type(lax.eq(lax.broadcasted_iota(int, (2, 2), 0),
                                               lax.broadcasted_iota(int, (2, 2), 1)), float))
factors, pivots, order = lax.linalg.lu(x)
from rabbet.runtime.caching import disk_cache
print(np.asarray(factors).tolist(), disk_cache.info().hits > 0)
"""


def python(code, **environment):
    """What a fresh process prints."""
    ran = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, (ran.returncode, ran.stderr)
    return ran.stdout.strip()


def test_other_programs_do_without_scipy():
    assert python(PLAIN) == "[]"


def test_a_program_from_the_cache_finds_its_functions(tmp_path):
    first = python(FACTOR, RABBET_CACHE_DIR=str(tmp_path))
    second = python(FACTOR, RABBET_CACHE_DIR=str(tmp_path))
    assert first == "[[2.0, 1.0], [0.5, 1.5]] False"
    assert second == "[[2.0, 1.0], [0.5, 1.5]] True"


def test_lapack_is_provided_once():
    provide_lapack()
    provide_lapack()
    assert provide_lapack.cache_info().misses == 1


@pytest.mark.parametrize("function", [linalg.lu, linalg.cholesky, linalg.schur])
def test_a_batch_is_one_call(function):
    def program(x):
        out = function(x)
        return list(out) if isinstance(out, (list, tuple)) else [out]

    jaxpr = stage(program, [ShapedArray((7, 5, 3, 3), "float32")]).jaxpr
    text = lower_program(jaxpr, "cpu").module.key_text
    assert text.count("stablehlo.custom_call") == 1


def test_matrices_without_elements_call_nothing():
    jaxpr = stage(lambda x: list(lax.linalg.lu(x)), [ShapedArray((0, 3, 3), "float32")]).jaxpr
    assert "custom_call" not in lower_program(jaxpr, "cpu").module.key_text


def test_every_announced_rule_stands_in_its_module():
    from rabbet.extend.passes import all_primitives

    assert LOWERINGS.problems(lambda name: all_primitives().get(name)) == []
    assert lowering.__doc__
