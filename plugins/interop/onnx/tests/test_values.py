"""What runtimes do differently by themselves, and models made right: numbers beyond an integer's range, NaN,
infinities in windows, random keys.
"""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import MissingRule

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
rnp = pytest.importorskip("rabbet.numpy")

NAN, INF = np.nan, np.inf
BEYOND = np.array([300.5, -5.7, NAN, INF, -INF, 1e30, 3e9, -3e9, 200.7, 2147483647, 9.3e18, 1.9e19, -0.5])
ROWS = np.array([[1, NAN, 3], [NAN, 2, -1], [1, 2, NAN], [INF, NAN, -INF], [-INF, -INF, -INF], [2, 3, 1]])


def agrees(fun, *args):
    wide = [rnp.asarray(x, x.dtype) for x in args]  # without narrowing
    model = rb.onnx.export(fun, *wide)
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    found = session.run(None, dict(zip(names, args, strict=True)))
    for mine, theirs in zip(found, rb.tree.leaves(fun(*wide)), strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
        np.testing.assert_array_equal(mine, np.asarray(theirs))


@pytest.mark.parametrize("source", ["float32", "float64", "float16"])
def test_floats_beyond_the_range_of_integers(source):
    with np.errstate(over="ignore"):
        x = BEYOND.astype(source)
    for target in "int8 uint8 int16 uint16 int32 uint32 int64 uint64".split():
        agrees(lambda x, target=target: lax.convert_element_type(x, target), x)


def test_integers_that_are_divided_by_0_and_by_minus_1():
    x, y = np.array([7, -7, -(2**31), 5, 0], "i4"), np.array([0, 0, -1, -1, 0], "i4")
    agrees(lambda x, y: (lax.div(x, y), lax.rem(x, y)), x, y)
    agrees(lambda x: (lax.div(x, -1), lax.rem(x, 3)), x)


def test_reductions_of_nothing():
    x = np.zeros((2, 0), "f4")
    agrees(lambda x: (rnp.sum(x, 1), rnp.any(x > 0, 1), rnp.all(x > 0, 1), rnp.prod(x)), x)


def test_integers_wrap_round():
    x = np.array([300, -5, 2**31 - 1, -(2**31)], "i4")
    for target in ("int8", "uint8", "int16", "uint16", "uint32"):
        agrees(lambda x, target=target: lax.convert_element_type(x, target), x)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_nans_in_reductions_and_searches(dtype):
    x = ROWS.astype(dtype)
    agrees(lambda x: (rnp.max(x, 1), rnp.min(x, 0), rnp.max(x)), x)
    agrees(lambda x: (lax.argmax(x, 1, "int32"), lax.argmin(x, 0, "int32"), lax.sign(x)), x)
    if dtype != "float16":
        agrees(lambda x: (lax.sort(x, dimension=1), lax.sort(x, dimension=0)), x)


def test_nans_and_infinities_in_windows():
    agrees(lambda x: lax.reduce_window(x, -rnp.inf, lax.max, (1, 2), (1, 1), "VALID"), ROWS.astype("f4"))
    agrees(lambda x: lax.reduce_window(x, -rnp.inf, lax.max, (3, 3), (2, 1), "SAME"), ROWS.astype("f4"))


def test_what_is_drawn_by_a_known_key_is_part_of_the_model():
    agrees(lambda x: rb.random.normal(rb.random.key(3), (4,)) + x, np.zeros(4, "f4"))
    key = rb.random.key(5)
    agrees(lambda x: rb.random.uniform(rb.random.split(key)[1], (4,)) * x, np.ones(4, "f4"))


def test_an_operation_on_a_key_that_stays_is_named():
    with pytest.raises(MissingRule, match=r"onnx\.export: '.*'") as caught:
        rb.onnx.export(
            lambda x: rb.random.gamma(rb.random.key(3), abs(x) + 1), rb.ShapeDtypeStruct((4,), "float32")
        )
    assert "test_values.py" in str(caught.value)
