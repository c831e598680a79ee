"""The laws of ``primitives/gather.py``, then its corners and messages."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.testing.draws import device_array
from rabbet.testing.rows.gather import ROWS
from rabbet.testing.suite import law_tests

from .helpers import floats, gradient

pytestmark = [pytest.mark.exhaustive, pytest.mark.optimized]

test_value, _, test_mapping, test_derivatives, _ = law_tests(ROWS)


def test_modes_by_name():
    modes = lax.GatherScatterMode
    assert modes.from_any("clip") is modes.CLIP
    assert modes.from_any("fill") is modes.from_any("drop") is modes.from_any(None) is modes.FILL_OR_DROP
    with pytest.raises(ValueError, match="unknown mode 'wrap'"):
        modes.from_any("wrap")


def test_what_is_read_outside():
    x, numbers = floats(1.0, 2.0), lax.GatherDimensionNumbers((), (0,), (0,))
    places = device_array(np.array([[1], [2], [-1]], np.int32))
    read = lambda **options: np.asarray(lax.gather(x, places, numbers, (1,), **options)).tolist()
    assert str(read()) == str(read(mode="fill")) == "[2.0, nan, nan]"
    assert read(mode="fill", fill_value=5.0) == [2, 5, 5] and read(mode="clip") == [2, 2, 1]


def test_one_element_of_nothing():
    """As a batch of no examples reads: a slice of one where there is none, and no place for it."""
    x, places = device_array(np.zeros((0, 3), np.float32)), device_array(np.zeros((0, 2, 1), np.int32))
    numbers = lax.GatherDimensionNumbers((), (1,), (1,), (0,), (0,))
    for mode in ("clip", "fill", "promise_in_bounds"):
        read = lambda x, mode=mode: lax.gather(x, places, numbers, (1, 1), mode=mode)
        assert read(x).shape == (0, 2)
        assert gradient(read, x) == []
    with pytest.raises(TypeError, match="none larger than the operand's"):
        lax.gather(x, np.zeros((2, 1), np.int32), lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 3))


def test_narrow_indices_reach_the_end_of_long_arrays():
    x = device_array(np.arange(300, dtype=np.int32))
    numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    places = device_array(np.array([[255], [7]], np.uint8))
    for mode in ("clip", "fill"):
        assert lax.gather(x, places, numbers, (1,), mode=mode).tolist() == [255, 7]


def test_an_empty_batch():
    from rabbet.testing.driver import CORE

    x = device_array(np.zeros((0, 3), np.float32))
    places = device_array(np.zeros((0, 2, 1), np.int32))
    numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    (out,) = CORE.vmap(lambda a, i: (lax.gather(a, i, numbers, (1,)),), (0, 0))(x, places)
    assert out.shape == (0, 2)


@pytest.mark.parametrize(
    ("numbers", "sizes", "words"),
    [
        (((1,), (0,), (0, 1)), (1, 3), "index vectors .* are of length 1"),
        (((1,), (0,), (0,)), (2, 3), "must be 1 along the dropped dimensions"),
        (((1,), (0,), (0,)), (1, 9), r"none larger than the operand's \("),
        (((), (0,), (0,)), (1, 3), "the window keeps 1 dimensions"),
        (((1,), (), (0,), (0,), (0,)), (1, 3), "repeat one"),
    ],
)
def test_messages(numbers, sizes, words):
    x = device_array(np.zeros((4, 3), np.float32))
    places = device_array(np.zeros((2, 1), np.int32))
    with pytest.raises((TypeError, ValueError), match=words):
        lax.gather(x, places, lax.GatherDimensionNumbers(*numbers), sizes)


def test_floating_indices_are_refused():
    x = device_array(np.zeros(4, np.float32))
    with pytest.raises(TypeError, match="takes signed integer or unsigned integer arrays"):
        lax.gather(x, x[:, None], lax.GatherDimensionNumbers((), (0,), (0,)), (1,))


def test_what_are_no_dimension_numbers_is_said():
    x = device_array(np.zeros((4, 3), np.float32))
    places = device_array(np.zeros((2, 1), np.int32))
    with pytest.raises(TypeError, match=r"must be a lax.GatherDimensionNumbers, got \(\(1,\), "):
        lax.gather(x, places, ((1,), (0,), (0,)), (1, 3))
    with pytest.raises(TypeError, match=r"must be a lax.ScatterDimensionNumbers, got GatherDimensionNumbers"):
        lax.scatter_add(x, places, x[:2], lax.GatherDimensionNumbers((1,), (0,), (0,)))
    with pytest.raises(TypeError, match=r"must be tuples of ints, got .*\(offset_dims=1, "):
        lax.gather(x, places, lax.GatherDimensionNumbers(1, (0,), (0,)), (1, 3))
