"""``argmax`` and ``argmin`` of many elements: one pass over pairs, a few elements at once."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.primitives import argmax_argmin, argmax_lowering

pytestmark = pytest.mark.needs("cpu", "jit")


@pytest.mark.parametrize("size", [*range(1, 40), 101, 127, 1000, 1009, 50257])
def test_an_axis_is_taken_apart(size):
    parts = argmax_lowering.parts_of(size)
    assert [start for start, _ in parts[1:]] == [end for _, end in parts[:-1]]
    assert parts[0][0] == 0 and parts[-1][1] == size and len(parts) <= 4
    for start, end in parts:
        counts = argmax_lowering.levels(end - start)
        assert np.prod(counts) == end - start and max(counts) <= argmax_lowering.AT_ONCE


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(argmax_argmin, "FEW", 0)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8"])
@pytest.mark.parametrize(
    "shape, axis", [((16, 5), 0), ((3, 37), 1), ((101,), 0), ((2, 34, 3), 1), ((4, 1), 1)]
)
def test_the_first_of_equal_ones(always, dtype, shape, axis):
    if dtype == "bfloat16":
        pytest.importorskip("rabbet_bfloat16")
    x = np.random.default_rng(0).integers(0, 5, shape).astype("float32")
    given = rb.jit(lambda x: lax.convert_element_type(x, dtype))(x)
    f = rb.jit(lambda x: (lax.argmax(x, axis, "int32"), lax.argmin(x, axis, "int32")))
    greatest, least = f(given)
    np.testing.assert_array_equal(greatest, x.argmax(axis))
    np.testing.assert_array_equal(least, x.argmin(axis))


def test_the_first_nan_and_infinities(always):
    f = rb.jit(lambda x: (lax.argmax(x, 0, "int32"), lax.argmin(x, 0, "int32")))
    x = np.zeros(101, np.float32)
    x[[7, 60, 100]] = np.nan
    x[3], x[50] = np.inf, -np.inf
    assert list(map(int, f(x))) == [7, 7]
    for value in (np.inf, -np.inf, np.nan):
        assert list(map(int, f(np.full(101, value, np.float32)))) == [0, 0]


def test_a_long_operand_is_computed_and_not_kept():
    book = np.linspace(-2, 2, 16).astype("float32")

    def nearest(x):
        both = [lax.broadcast_in_dim(v, (8192, 16), (d,)) for v, d in ((book, 1), (x, 0))]
        near = lax.abs(lax.sub(*both))
        return lax.argmin(near, 1, "int32")

    x = np.random.default_rng(0).normal(size=8192).astype("float32")
    compiled = rb.jit(nearest).lower(x).compile()
    np.testing.assert_array_equal(compiled(x), np.abs(book - x[:, None]).argmin(1))
    assert compiled.memory_analysis().temp_size_in_bytes < 8192 * 16  # a quarter of one (8192, 16) array


def test_what_costs_much_is_computed_once(always):
    x = np.ones((4, 8), np.float32)
    cheap = rb.jit(lambda x: lax.argmin(lax.abs(lax.mul(x, x)), 1, "int32")).lower(x).as_text()
    dear = rb.jit(lambda x: lax.argmin(lax.sin(x), 1, "int32")).lower(x).as_text()
    assert "optimization_barrier" not in cheap and "optimization_barrier" in dear
