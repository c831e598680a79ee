"""Programs of many small products run their operations one after another."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet_pjrt_cpu import BACKEND, small_arrays

PRODUCT = "%1 = stablehlo.dot_general %0, %0 : tensor<{}>"


@pytest.mark.parametrize(
    "types, count, small",
    [
        (["12x16xf32"], 8, True),
        (["12x16xf32"], 7, False),
        (["128x128xf32", "3xi1"], 8, True),
        (["129xf32"], 8, True),
        (["128xf32", "f32"], 8, False),
        (["16385xf32"], 8, False),
        (["2xf32", "128x129xcomplex<f32>"], 8, False),
    ],
)
def test_which_are_small(types, count, small):
    text = "\n".join([PRODUCT.format(types[i % len(types)]) for i in range(count)])
    assert small_arrays.are_multiplied_often(text) is small
    assert BACKEND.program_options(text) == (small_arrays.IN_TURN if small else {})


@pytest.mark.parametrize("of", ["partitions = 2", "replicas = 12", "partitions = 1", "replicas = 1"])
def test_programs_for_several_devices_stay_as_they_are(of):
    text = f"module @m attributes {{mhlo.num_{of} : i32}} {{\n" + 8 * (PRODUCT.format("200xf32") + "\n")
    assert small_arrays.are_multiplied_often(text) is of.endswith(" 1")


def test_long_programs_stay_as_they_are():
    line = PRODUCT.format("200xf32") + "\n"
    most = small_arrays.LONGEST // len(line)
    assert small_arrays.are_multiplied_often(most * line)
    assert not small_arrays.are_multiplied_often((most + 1) * line)


@pytest.mark.needs("jit")
def test_results_stay():
    x = np.random.default_rng(0).normal(size=(8, 16, 16)).astype("float32") / 4

    def products(xs):
        out = xs[0]
        for i in range(1, 8):
            out = lax.tanh(lax.dot(out, xs[i]) + lax.dot(xs[i], out))
        return out

    wanted = _in_numpy(x.astype("float64"))
    compiled = rb.jit(lambda x: products([lax.index_in_dim(x, i, keepdims=False) for i in range(8)])).lower(x)
    assert small_arrays.are_multiplied_often(compiled.as_text())
    np.testing.assert_allclose(np.asarray(compiled.compile()(x)), wanted, rtol=1e-5, atol=1e-6)


def _in_numpy(xs):
    out = xs[0]
    for x in xs[1:]:
        out = np.tanh(out @ x + x @ out)
    return out
