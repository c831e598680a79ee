"""The laws of Cholesky, LU and the reduced forms, then corners and messages."""

import re

import numpy as np
import pytest
from rabbet import lax
from rabbet.errors import MissingRule
from rabbet.lax.linalg.primitives import lu as family
from rabbet.lax.linalg.rows.factorizations import ROWS
from rabbet.testing import driver
from rabbet.testing.draws import device_array, floats
from rabbet.testing.suite import law_tests

test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)

EMPTY = (0, 0)


def random(*shape, dtype="float64"):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype[0] == "c" else x).astype(dtype)


# ------------------------------------------------------------------------------------------------ cholesky
@pytest.mark.forbidden("debug_nans")
def test_cholesky_of_a_batch_in_which_one_matrix_is_not_definite():
    good, bad = np.diag([4.0, 9.0]), np.array([[1.0, 2.0], [2.0, 1.0]])
    out = np.asarray(lax.linalg.cholesky(device_array(np.stack([good, bad]))))
    assert out[0].tolist() == [[2, 0], [0, 3]]
    assert np.isnan(out[1]).tolist() == [[True, False], [True, True]] and out[1, 0, 1] == 0


@pytest.mark.forbidden("debug_nans")
def test_cholesky_reads_the_mean_of_both_triangles_or_the_lower_one():
    a = device_array(np.array([[4.0, 100.0], [2.0, 5.0]]))
    lower = np.asarray(lax.linalg.cholesky(a, symmetrize_input=False))
    assert lower.tolist() == [[2, 0], [1, 2]]
    assert np.isnan(np.asarray(lax.linalg.cholesky(a))[np.tril_indices(2)]).all()


def test_cholesky_gradients_are_symmetric():
    a = device_array(random(3, 3) @ random(3, 3).T + 3 * np.eye(3))
    (_,), pull = driver.vjp(lambda x: (lax.linalg.cholesky(x),), a)
    gradient = np.asarray(pull((device_array(random(3, 3)),))[0])
    assert np.allclose(gradient, gradient.T, rtol=1e-12)


@pytest.mark.needs("numpy")
def test_cholesky_in_half_precision():
    a = lax.convert_element_type(floats(4.0, 0.0, 0.0, 9.0).reshape(2, 2), np.float16)
    assert lax.linalg.cholesky(a).dtype == np.float16


# ------------------------------------------------------------------------------------------------------ lu
@pytest.mark.parametrize("shape", [(4, 4), (2, 5, 3), (2, 3, 5), (0, 3), (3, 0)], ids=str)
@pytest.mark.parametrize("way", ["platform", "columns"])
def test_lu_gives_the_matrix_back(shape, way):
    x = random(*shape)
    decompose = lax.linalg.lu if way == "platform" else driver.jit(family.by_columns)
    factors, pivots, order = [np.asarray(out) for out in decompose(device_array(x))]
    m, n = shape[-2:]
    k = min(m, n)
    low, high = np.tril(factors, -1)[..., :k] + np.eye(m, k), np.triu(factors)[..., :k, :]
    assert pivots.shape == (*shape[:-2], k) and pivots.dtype == order.dtype == np.int32
    assert np.allclose(low @ high, np.take_along_axis(x, order[..., None], -2))
    assert (np.abs(low) <= 1).all()


@pytest.mark.needs("numpy")
def test_lu_of_a_singular_matrix():
    for decompose in (lax.linalg.lu, driver.jit(family.by_columns)):
        factors, pivots, _ = decompose(floats(0.0, 1.0, 0.0, 3.0).reshape(2, 2))
        assert np.asarray(factors).tolist() == [[0, 1], [0, 3]] and np.asarray(pivots).tolist() == [0, 1]


# ------------------------------------------------------------------------------------------- reduced forms
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_schur_vectors_are_unitary_and_give_the_matrix_back(dtype):
    x = random(4, 4, dtype=dtype)
    t, q = [np.asarray(out) for out in lax.linalg.schur(device_array(x))]
    assert np.allclose(q @ np.conj(q.T), np.eye(4), atol=1e-5)
    assert np.allclose(q @ t @ np.conj(q.T), x, atol=1e-4)
    assert np.allclose(np.tril(t, -2), 0)


def test_a_symmetric_product_that_is_symmetric_to_the_last_bit():
    a, c = device_array(random(3, 4)), device_array(random(3, 3))
    out = np.asarray(lax.linalg.symmetric_product(a, c, alpha=0.3, symmetrize_output=True))
    assert (out == out.T).all() and np.allclose(out, 0.3 * random(3, 4) @ random(3, 4).T)


def test_a_cholesky_update_of_nothing():
    r, w = lax.full((2, 2), 0.0), lax.full((2,), 0.0)
    assert np.asarray(lax.linalg.cholesky_update(r, w)).tolist() == [[0, 0], [0, 0]]


def test_matrices_without_elements():
    empty, none = lax.full(EMPTY, 1.0), lax.full((0,), 1.0)
    assert lax.linalg.cholesky(empty).shape == EMPTY
    assert [x.shape for x in lax.linalg.hessenberg(empty)] == [EMPTY, (0,)]
    assert [x.shape for x in lax.linalg.tridiagonal(empty)] == [EMPTY, (0,), (0,), (0,)]
    assert [x.shape for x in lax.linalg.schur(empty)] == [EMPTY, EMPTY]
    assert lax.linalg.cholesky_update(empty, none).shape == EMPTY
    assert lax.linalg.symmetric_product(lax.full((2, 0), 1.0), lax.full((2, 2), 1.0)).shape == (2, 2)


# ------------------------------------------------------------------------------------------------ messages
@pytest.mark.parametrize("name", ["cholesky", "hessenberg", "tridiagonal", "schur"])
@pytest.mark.narrow
def test_what_is_not_square_is_refused(name):
    function = getattr(lax.linalg, name)
    with pytest.raises(ValueError, match=rf"{name} takes square matrices, .* got f32\[2,3\]"):
        function(lax.full((2, 3), 1.0))
    if name != "cholesky":  # which makes floats of integers
        with pytest.raises(TypeError, match=rf"{name} takes floating or complex arrays, got i32\[2,2\]"):
            function(lax.full((2, 2), 1))


@pytest.mark.narrow
def test_messages():
    with pytest.raises(ValueError, match=r"lu takes matrices, .* got f32\[3\]"):
        lax.linalg.lu(floats(1, 2, 3))
    with pytest.raises(ValueError, match=re.escape("pivots of shape (..., k) with k <= permutation_size")):
        lax.linalg.lu_pivots_to_permutation(lax.full((3,), 0), 2)
    with pytest.raises(ValueError, match=r"a of shape \(\.\.\., m, n\) and c of shape \(\.\.\., m, m\)"):
        lax.linalg.symmetric_product(lax.full((2, 3), 1.0), lax.full((3, 3), 1.0))
    with pytest.raises(ValueError, match=r"vector of shape \(\.\.\., n\), got f32\[2,2\] and f32\[3\]"):
        lax.linalg.cholesky_update(lax.full((2, 2), 1.0), floats(1, 2, 3))
    with pytest.raises(MissingRule, match="'schur': no derivative is known for it"):
        driver.jvp(lax.linalg.schur, (lax.full((2, 2), 1.0),), (lax.full((2, 2), 1.0),))


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_factors_come_as_a_list(dtype):
    """As under JAX, and so a tree that holds them is the same there."""
    x = device_array(random(3, 3, dtype=dtype))
    assert type(lax.linalg.lu(x)) is list
    for reduced, count in (
        (lax.linalg.schur(x), 2),
        (lax.linalg.hessenberg(x), 2),
        (lax.linalg.tridiagonal(x), 4),
    ):
        assert type(reduced) is list and len(reduced) == count
        assert {out.dtype for out in reduced} == {np.dtype(dtype)}
    (form,) = lax.linalg.schur(x, compute_schur_vectors=False)
    assert form.shape == (3, 3)


def test_a_cholesky_factor_of_integers_is_of_floats():
    whole = np.array([[4, 2], [2, 2]])
    for dtype in ("int32", "uint8"):
        found = lax.linalg.cholesky(whole.astype(dtype))
        assert found.dtype == "float32"
        np.testing.assert_allclose(found, [[2, 0], [1, 1]], rtol=1e-6)
    np.testing.assert_array_equal(lax.linalg.cholesky(np.eye(2, dtype=bool)), np.eye(2))
