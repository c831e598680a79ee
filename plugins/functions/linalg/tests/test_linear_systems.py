"""The laws of triangular and tridiagonal systems, then all their uses, corners and messages."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.lax.linalg.primitives.tridiagonal import by_elimination
from rabbet.lax.linalg.rows.linear_systems import ALL_FLAGS, ROWS, triangular
from rabbet.testing import checks, driver
from rabbet.testing.draws import device_array, floats
from rabbet.testing.suite import law_tests

test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)


@pytest.mark.parametrize("flags", ALL_FLAGS, ids=str)
def test_every_use_of_triangular_solve(flags):
    checks.check_value(triangular(flags, batch=(2,)), "complex64")


@pytest.mark.needs("numpy")
def test_one_triangle_and_the_diagonal_as_it_is_told():
    a = floats(np.nan, 5.0, 2.0, np.nan).reshape(2, 2)
    x = lax.linalg.triangular_solve(a, floats(1.0, 4.0), left_side=True, lower=True, unit_diagonal=True)
    assert np.asarray(x).tolist() == [1.0, 2.0]


@pytest.mark.needs("numpy")
def test_vectors_on_both_sides():
    a, b = floats(2.0, 0.0, 1.0, 4.0).reshape(2, 2), floats(2.0, 5.0)
    assert np.asarray(lax.linalg.triangular_solve(a, b, left_side=True, lower=True)).tolist() == [1.0, 1.0]
    assert np.asarray(lax.linalg.triangular_solve(a, b, lower=True)).tolist() == [0.375, 1.25]


def test_systems_without_unknowns():
    empty = lax.full((0, 0), 1.0)
    assert lax.linalg.triangular_solve(empty, lax.full((0, 2), 1.0), left_side=True).shape == (0, 2)
    none = lax.full((0,), 1.0)
    assert lax.linalg.tridiagonal_solve(none, none, none, lax.full((0, 2), 1.0)).shape == (0, 2)


@pytest.mark.needs("numpy")
def test_narrow_floats_are_solved_in_single_precision():
    a = lax.convert_element_type(floats(2.0, 0.0, 1.0, 4.0).reshape(2, 2), np.float16)
    b = lax.convert_element_type(floats(2.0, 5.0), np.float16)
    x = lax.linalg.triangular_solve(a, b, left_side=True, lower=True)
    assert x.dtype == np.float16 and np.asarray(x).tolist() == [1.0, 1.0]


@pytest.mark.forbidden("debug_nans")
@pytest.mark.needs("numpy")
def test_a_singular_tridiagonal_matrix():
    ones, b = floats(1.0, 1.0), floats(1.0, 2.0).reshape(2, 1)
    assert np.isnan(np.asarray(lax.linalg.tridiagonal_solve(ones, ones, ones, b))).all()
    near = lax.linalg.tridiagonal_solve(ones, ones, ones, b, perturb_singular=True)
    assert np.isfinite(np.asarray(near)).all()


@pytest.mark.needs("numpy")
def test_tridiagonal_systems_are_solved_with_row_swaps():
    d, off = floats(0.0, 1.0, 1.0), floats(1.0, 1.0, 1.0)
    x = lax.linalg.tridiagonal_solve(off, d, off, floats(2.0, 6.0, 5.0).reshape(3, 1))
    assert np.allclose(np.asarray(x)[:, 0], [1.0, 2.0, 3.0])


def test_elimination_without_a_routine_of_the_platform():
    rng = np.random.default_rng(0)
    dl, d, du, b = (device_array(rng.normal(size=s)) for s in [(2, 4), (2, 4), (2, 4), (2, 4, 3)])
    d = lax.add(d, 8.0)
    (x,) = driver.jit(lambda *args: (by_elimination(*args),))(dl, d, du, b)
    wanted = lax.linalg.tridiagonal_solve(dl, d, du, b)
    assert np.allclose(np.asarray(x), np.asarray(wanted), rtol=1e-12)


@pytest.mark.narrow
def test_messages():
    square, wide = lax.full((2, 2), 1.0), lax.full((2, 3), 1.0)
    with pytest.raises(ValueError, match=r"triangular_solve takes square matrices.*got f32\[2,3\]"):
        lax.linalg.triangular_solve(wide, wide)
    with pytest.raises(ValueError, match=r"b of shape \(\.\.\., k, n\).*a: f32\[2,2\], b: f32\[2,3\]"):
        lax.linalg.triangular_solve(square, wide)
    with pytest.raises(ValueError, match=r"right-hand sides of shape \(\.\.\., n, k\).*b: f32\[2\]"):
        lax.linalg.tridiagonal_solve(*[floats(1.0, 2.0)] * 4)
    with pytest.raises(TypeError, match=r"floating or complex arrays, got i32\[2,2\]"):
        lax.linalg.triangular_solve(lax.full((2, 2), 1), square)
