"""Products with a weight become products of matrices, others stay."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.extend.passes import check, evaluate, stage
from rabbet.extend.primitive import ShapedArray
from rabbet_passes.weight_dots import flatten_dots

from .programs import names

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 8
W = np.arange(20, dtype=np.float32).reshape(4, 5) - 9.5


def product(numbers, x=X, y=W, **params):
    avals = [ShapedArray(a.shape, "float32") for a in (x, y)]
    jaxpr = stage(lambda x, y: [lax.dot_general(x, y, numbers, **params)], avals).jaxpr
    after = check(flatten_dots(jaxpr))
    np.testing.assert_allclose(evaluate(after, [x, y])[0], evaluate(jaxpr, [x, y])[0], rtol=1e-5)
    return jaxpr, after


@pytest.mark.parametrize(("y", "d"), [(W, 0), (W.T.copy(), 1)])
def test_leading_dimensions_become_one(y, d):
    _, after = product((((2,), (d,)), ((), ())), y=y)
    assert names(after) == ["reshape", "dot_general", "reshape"]
    assert after.equations[1].inputs[0].aval.shape == (6, 4)


def test_what_else_a_product_says_is_kept():
    numbers = (((2,), (0,)), ((), ()))
    before, after = product(numbers, precision=lax.Precision.HIGHEST, preferred_element_type="float32")
    before, after = before.equations[0].op.params, after.equations[1].op.params
    assert {k: v for k, v in after.items() if k != "dimension_numbers"} == {
        k: v for k, v in before.items() if k != "dimension_numbers"
    }


@pytest.mark.parametrize(
    ("numbers", "x", "y"),
    [
        ((((1,), (0,)), ((), ())), X[0], W),
        ((((1,), (0,)), ((), ())), np.moveaxis(X, 2, 1).copy(), W),
        ((((2,), (1,)), ((0,), (0,))), X, X[:, :1].transpose(0, 2, 1).copy()),
        ((((2, 1), (0, 1)), ((), ())), X, np.ones((4, 3), np.float32)),
    ],
)
def test_others_stay_as_they_are(numbers, x, y):
    before, after = product(numbers, x, y)
    assert after is before


def test_in_loops_too():
    def fn(x, w):
        return [lax.fori_loop(0, 2, lambda i, x: lax.dot_general(x, w, (((2,), (0,)), ((), ()))), x)]

    avals = [ShapedArray((2, 3, 4), "float32"), ShapedArray((4, 4), "float32")]
    text = str(check(flatten_dots(stage(fn, avals).jaxpr)))
    assert "6,4" in text
