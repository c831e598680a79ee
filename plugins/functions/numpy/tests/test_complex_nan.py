"""Complex numbers with NaN in one part or both: reductions, positions, functions."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp

pytestmark = pytest.mark.needs("jit")

NAN = np.nan
ALL = np.array([complex(NAN, 1), complex(1, NAN), complex(NAN, NAN)], "complex64")
SOME = np.array([1 + 2j, complex(NAN, 0), 3 - 1j, complex(0, NAN), 3 + 1j], "complex64")


def same(found, wanted):
    found, wanted = np.asarray(found), np.asarray(wanted)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(wanted))
    np.testing.assert_allclose(found[~np.isnan(found)], wanted[~np.isnan(wanted)], rtol=1e-5)


REDUCTIONS = "max min sum prod mean std var nansum nanprod nanmean nanmax nanmin".split()
FUNCTIONS = "arctan arctanh arcsin arcsinh sin tanh exp log sqrt".split()


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_reductions(name):
    for x in (ALL, SOME):
        for axis in (0, None):
            wanted = getattr(np, name)(x, axis)
            same(getattr(rnp, name)(x, axis), wanted)
        same(rb.jit(getattr(rnp, name))(x), getattr(np, name)(x))


def test_positions():
    for name in ("argmax", "argmin"):
        for x in (ALL, SOME, SOME[[0, 2, 4]]):
            assert getattr(rnp, name)(x) == getattr(np, name)(x)
    assert [rnp.nanargmax(SOME), rnp.nanargmin(SOME)] == [4, 0]
    assert [rnp.nanargmax(ALL), rnp.nanargmin(ALL)] == [-1, -1]


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_nan_make_no_number_of_it(name):
    with np.errstate(all="ignore"):
        wanted = getattr(np, name)(ALL)
    for f in (getattr(rnp, name), rb.jit(getattr(rnp, name))):
        found = np.asarray(f(ALL))
        assert np.isnan(found).all()
        for part in (np.real, np.imag):  # a part that is a number here is that number in NumPy
            numbers = ~np.isnan(part(found))
            np.testing.assert_allclose(part(found)[numbers], part(wanted)[numbers], rtol=1e-5)
