"""Products: the dimensions that they sum over, and how often they are rounded."""

import re

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax


def test_products_of_bfloat16_are_rounded_once():
    pytest.importorskip("rabbet_bfloat16", reason="the package rabbet-bfloat16 is not installed")
    random = np.random.default_rng(0)
    x, y = (lax.convert_element_type(random.normal(size=(64, 64)), "bfloat16") for _ in range(2))
    out = lax.dot(x, y)
    assert out.dtype == "bfloat16"
    wide = lax.dot(lax.convert_element_type(x, "float32"), lax.convert_element_type(y, "float32"))
    rounded = lax.convert_element_type(wide, "bfloat16")
    # The sums of the two may differ in the last bit of float32, so that a few are rounded the other way.
    differing = np.asarray(lax.ne(out, rounded)).mean()
    np.testing.assert_allclose(*[np.asarray(v).astype("float32") for v in (out, rounded)], rtol=2**-7)
    assert differing < 0.01


FORMS = {
    "both inside": "bkm,bkn->bmn",
    "second last": "bkm,bnk->bmn",
    "batch in the middle": "kbm,nkb->bmn",
    "several free": "bkuv,bwkz->buvwz",
    "two batches": "bckm,bckn->bcmn",
}


@pytest.mark.needs("jit")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "sizes", [{"k": 6, "m": 6, "n": 16}, {"k": 96, "m": 48, "n": 7}, {"k": 5, "m": 64, "n": 300}]
)
def test_batches_of_products_are_numpys_whatever_is_summed_over(form, sizes):
    form = FORMS[form]
    sizes = {"b": 12, "c": 3, "u": 5, "v": 4, "w": 3, "z": 6, **sizes}
    random = np.random.default_rng(1)
    operands = form.split("->")[0].split(",")
    x, y = (random.normal(size=[sizes[i] for i in names]).astype("float32") for names in operands)

    rnp = pytest.importorskip("rabbet.numpy")

    def program(x, y):
        return rnp.einsum(form, x, y)

    wanted = np.einsum(form, x.astype("float64"), y.astype("float64"))
    np.testing.assert_allclose(np.asarray(rb.jit(program)(x, y)), wanted, rtol=2e-5, atol=2e-5)


def dots(text):
    """The dimensions summed over in the products of a program, those of both operands."""
    return re.findall(r"stablehlo\.dot_general.*contracting_dims = \[(\d+)\] x \[(\d+)\]", text)


def lowered(x_shape, y_shape, sums, dtype="float32"):
    x, y = (rb.ShapeDtypeStruct(shape, dtype) for shape in (x_shape, y_shape))
    numbers = (((sums[0],), (sums[1],)), ((0,), (0,)))
    return rb.jit(lambda x, y: lax.dot_general(x, y, numbers)).lower(x, y).as_text()


@pytest.mark.needs("jit")
def test_arrays_that_caches_do_not_hold_are_not_moved():
    assert dots(lowered((100, 100, 100), (100, 100, 100), (1, 1))) == [("1", "1")]
    assert "transpose" not in lowered((64, 128, 128), (64, 128, 128), (1, 1))
    assert dots(lowered((16, 512, 512), (16, 512, 64), (1, 1))) == [("2", "1")]


@pytest.mark.needs("jit")
def test_the_first_operand_is_summed_over_its_last_dimension():
    assert dots(lowered((128, 6, 6), (128, 6, 16), (1, 1))) == [("2", "1")]  # the first one is transposed
    assert dots(lowered((16, 512, 512), (16, 512, 64), (1, 1))) == [("2", "1")]  # the second one, and swapped
    text = lowered((64, 128, 128), (64, 32, 128), (1, 2))
    assert dots(text) == [("2", "1")]
    assert "dot_general %arg1, %arg0" in text  # swapped


@pytest.mark.needs("jit")
def test_products_that_gain_nothing_stay_as_they_are():
    assert dots(lowered((4, 1024, 32), (4, 1024, 32), (1, 1))) == [("1", "1")]
    assert dots(lowered((64, 128, 128), (64, 128, 32), (2, 1))) == [("2", "1")]
    assert dots(lowered((128, 6, 6), (128, 6, 16), (1, 1), "int32")) == [("1", "1")]
    assert dots(lowered((0, 6, 6), (0, 6, 16), (1, 1))) in ([], [("1", "1")])


@pytest.mark.needs("jit", "numpy", "grad")
def test_weight_gradients_are_plain_matrix_products():
    """Summed over batch and time as over one dimension, where one device computes."""
    rnp = pytest.importorskip("rabbet.numpy")
    x, w = np.ones((2, 3, 4), np.float32), np.arange(20, dtype=np.float32).reshape(4, 5)
    gradient = rb.jit(rb.grad(lambda w: rnp.sin(x @ w).sum()))
    lines = [line for line in gradient.lower(w).as_text().splitlines() if "dot_general" in line]
    assert "(tensor<6x4xf32>, tensor<6x5xf32>) -> tensor<4x5xf32>" in lines[-1]
    want = np.einsum("bsd,bse->de", x, np.cos(x @ w))
    np.testing.assert_allclose(gradient(w), want, rtol=1e-5)
