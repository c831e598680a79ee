"""Programs of small arrays run their operations one after another."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet_pjrt_cpu import BACKEND, small_arrays


@pytest.mark.parametrize(
    "types, small",
    [
        (["f32"], True),
        (["128x128xf32", "3xi1"], True),
        (["16385xf32"], False),
        (["2xf32", "128x129xcomplex<f32>"], False),
        (["0x99999xf32"], True),
        ([], True),
    ],
)
def test_which_are_small(types, small):
    text = "\n".join([f"%1 = stablehlo.abs %0 : tensor<{type}>" for type in types])
    assert small_arrays.are_all(text) is small
    assert BACKEND.program_options(text) == (small_arrays.IN_TURN if small else {})


def test_long_programs_are_not_looked_at():
    assert not small_arrays.are_all("%1 = stablehlo.abs %0 : tensor<2xf32>\n" * 10_000)


@pytest.mark.needs("jit")
@pytest.mark.parametrize("size", [16, 200])
def test_the_compiler_takes_it(size):
    x = np.random.default_rng(0).normal(size=(size, size)).astype("float32")
    out = rb.jit(lambda x: lax.dot(lax.tanh(x), lax.exp(x)))(x)
    np.testing.assert_allclose(np.asarray(out), np.tanh(x) @ np.exp(x), rtol=1e-4, atol=1e-4)
