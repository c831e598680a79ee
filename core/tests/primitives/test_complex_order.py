"""Extremes of complex numbers, which are ordered by their real parts first; NumPy orders them so too."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.testing.draws import device_array

pytestmark = [pytest.mark.exhaustive, pytest.mark.optimized]

TIES = np.array([[1 + 2j, 3 - 1j, 0.5, 2], [1 + 3j, 3 - 2j, 0.5 - 1j, complex("nan")]], np.complex64)


def same(found, wanted):
    assert np.asarray(found).dtype == wanted.dtype
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_array_equal(np.nan_to_num(np.asarray(found)), np.nan_to_num(wanted))


@pytest.mark.parametrize("name, of", [("max", np.maximum), ("min", np.minimum)])
def test_extremes(name, of):
    x = device_array(TIES)
    found = {part: getattr(lax, part + name) for part in ("", "reduce_", "scatter_")}
    same(found[""](x, TIES[:, ::-1]), of(TIES, TIES[:, ::-1]))
    same(found["reduce_"](x, (1,)), of.reduce(TIES, 1))
    places = device_array(np.array([[1], [0], [1]], np.int32))
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    wanted = TIES[0].copy()
    of.at(wanted, [1, 0, 1], TIES[1, :3])
    same(found["scatter_"](x[0], places, x[1, :3], numbers), wanted)


def test_clamp():
    x = device_array(TIES[0])
    assert lax.clamp(1 + 3j, x, 2 + 1j).tolist() == [1 + 3j, 2 + 1j, 1 + 3j, 2]
    assert lax.clamp(3 + 0j, x, 1j).tolist() == [1j] * 4  # the upper bound wins, as among real numbers
    flags = device_array(np.array([True, False]))
    assert lax.clamp(True, flags, True).tolist() == [True, True]


@pytest.mark.needs("grad")
def test_derivatives_go_to_the_one_that_counts():
    x, step = device_array(TIES[:, :3]), device_array(np.arange(1.0, 7.0).reshape(2, 3).astype(np.complex64))
    along = lambda fn: rb.jvp(fn, (x,), (step,))[1].tolist()
    assert along(lambda x: lax.reduce_max(x, (0,))) == [4, 2, 3]
    assert along(lambda x: lax.clamp(1 + 3j, x, 2 + 1j)) == [[0, 0, 0], [4, 0, 0]]
