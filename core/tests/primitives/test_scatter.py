"""The laws of ``primitives/scatter.py``, then its corners and messages."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.testing.draws import device_array
from rabbet.testing.rows.scatter import ROWS
from rabbet.testing.suite import law_tests

pytestmark = [pytest.mark.exhaustive, pytest.mark.optimized]

test_value, _, test_mapping, test_derivatives, _ = law_tests(ROWS)


ELEMENTS = lax.ScatterDimensionNumbers((), (0,), (0,))


def test_derivatives_follow_the_update_that_won():
    from rabbet.testing.driver import CORE

    x, places = device_array(np.zeros(3, np.float32)), device_array(np.array([[1], [1], [2]], np.int32))
    news = device_array(np.array([5.0, 6.0, 7.0], np.float32))
    tangents = device_array(np.array([10.0, 20.0, 30.0], np.float32))

    def write(a, u):
        return (lax.scatter(a, places, u, ELEMENTS),)

    (out,), (moved,) = CORE.jvp(write, (x, news), (device_array(np.ones(3, np.float32)), tangents))
    assert moved.tolist() == [1.0, {5.0: 10.0, 6.0: 20.0}[out.tolist()[1]], 30.0]
    _, pull = CORE.vjp(write, x, news)
    of_x, of_news = pull((device_array(np.ones(3, np.float32)),))
    assert of_x.tolist() == [1.0, 0.0, 0.0]
    assert sum(of_news.tolist()) == 2.0


def test_a_single_window_needs_no_scatter():
    from rabbet.lowering.module import lower_program
    from rabbet.program.avals import ShapedArray
    from rabbet.trace.staging import stage

    one = lax.ScatterDimensionNumbers((0,), (0,), (0,))
    avals = [ShapedArray((4, 3), "float32"), ShapedArray((1,), "int32"), ShapedArray((3,), "float32")]
    text = lower_program(stage(lambda x, i, u: [lax.scatter_add(x, i, u, one)], avals).jaxpr, "cpu").text
    assert "dynamic_update_slice" in text
    assert "stablehlo.scatter" not in text


def test_scattering_into_nothing():
    x = device_array(np.zeros(0, np.float32))
    for places in ([[0]], [[0], [1]]):
        indices = device_array(np.array(places, np.int32))
        assert lax.scatter_add(x, indices, np.ones(len(places), np.float32), ELEMENTS).shape == (0,)


def test_derivatives_that_are_not_known():
    from rabbet.testing.driver import CORE

    x, places = device_array(np.ones(3, np.float32)), device_array(np.array([[1], [1]], np.int32))
    news = device_array(np.ones(2, np.float32))
    with pytest.raises(NotImplementedError, match="unique_indices=True"):
        CORE.jvp(lambda u: (lax.scatter_mul(x, places, u, ELEMENTS),), (news,), (news,))


@pytest.mark.parametrize(
    ("numbers", "updates", "words"),
    [
        (((1,), (0,), (0,)), (3, 3), r"the updates have \(3,\) windows, the indices place \(2,\)"),
        (((1,), (), (0,)), (2, 3), "together must be as many as the operand has dimensions"),
        (((1,), (0,), (0,)), (2, 9), "are larger than the operand"),
        (((1, 0), (), (0,)), (2, 3), "must be sorted"),
        (((1,), (0,), (0, 1)), (2, 3), "index vectors .* are of length 1"),
    ],
)
def test_messages(numbers, updates, words):
    x, places = device_array(np.zeros((4, 3), np.float32)), device_array(np.zeros((2, 1), np.int32))
    with pytest.raises((TypeError, ValueError), match=words):
        lax.scatter(x, places, np.zeros(updates, np.float32), lax.ScatterDimensionNumbers(*numbers))


def test_dtypes_must_agree():
    x, places = device_array(np.zeros(4, np.float32)), device_array(np.zeros((2, 1), np.int32))
    with pytest.raises(TypeError, match="takes arrays of one dtype"):
        lax.scatter_add(x, places, np.zeros(2, np.int32), ELEMENTS)
