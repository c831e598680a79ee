"""Initial weights: shapes, dtypes, and the variances that they promise."""

import numpy as np
import pytest
import rabbet as rb

pytestmark = pytest.mark.needs("random")

SCALED = {
    "glorot_uniform": lambda i, o: 2 / (i + o),
    "glorot_normal": lambda i, o: 2 / (i + o),
    "lecun_uniform": lambda i, o: 1 / i,
    "lecun_normal": lambda i, o: 1 / i,
    "he_uniform": lambda i, o: 2 / i,
    "he_normal": lambda i, o: 2 / i,
}


@pytest.fixture
def key():
    import rabbet.random

    return rabbet.random.key(0)


@pytest.fixture
def init():
    from rabbet.nn import initializers

    return initializers


@pytest.mark.parametrize("name", SCALED)
def test_variance(name, key, init):
    weights = np.asarray(getattr(init, name)()(key, (400, 200)))
    np.testing.assert_allclose(weights.var(), SCALED[name](400, 200), rtol=0.02)
    np.testing.assert_allclose(weights.mean(), 0, atol=0.01)


def test_windows_count_for_inputs_and_outputs(key, init):
    weights = np.asarray(init.lecun_normal()(key, (3, 3, 64, 128)))
    np.testing.assert_allclose(weights.var(), 1 / (9 * 64), rtol=0.05)


def test_plain_ones(key, init):
    assert init.zeros(key, (2, 3)).shape == (2, 3)
    assert init.ones(key, (2,), "float16").dtype == np.float16
    assert init.constant(3)(key, (2,)).tolist() == [3, 3]
    assert (
        0
        <= np.asarray(init.uniform(0.5)(key, (99,))).min()
        < np.asarray(init.uniform(0.5)(key, (99,))).max()
        < 0.5
    )
    np.testing.assert_allclose(np.asarray(init.normal(2.0)(key, (9999,))).std(), 2, rtol=0.03)
    assert np.abs(init.truncated_normal(1.0)(key, (999,))).max() <= 2


def test_messages(key, init):
    with pytest.raises(ValueError, match="at least two dimensions"):
        init.he_normal()(key, (3,))
    with pytest.raises(ValueError, match="mode must be one of fan_in"):
        init.variance_scaling(1.0, "fan", "normal")
    with pytest.raises(TypeError, match="floating or complex numbers, got the dtype int32"):
        init.normal()(key, (3,), "int32")
    with pytest.raises(ValueError, match="two dimensions or more"):
        init.orthogonal()(key, (3,))
    with pytest.raises(ValueError, match="3 to 5 dimensions"):
        init.delta_orthogonal()(key, (3, 3))
    with pytest.raises(ValueError, match="4 inputs and 2 outputs"):
        init.delta_orthogonal()(key, (3, 4, 2))


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (2, 3, 4), (4, 4)])
def test_orthogonal_matrices(key, init, shape):
    for axis in (0, -1):
        w = np.moveaxis(np.asarray(init.orthogonal(2.0, axis)(key, shape)), axis, -1)
        w = w.reshape(-1, w.shape[-1])
        product = w.T @ w if w.shape[0] >= w.shape[1] else w @ w.T
        np.testing.assert_allclose(product, 4 * np.eye(len(product)), atol=1e-5)
    kernel = np.asarray(init.delta_orthogonal()(key, (3, 2, 3)))
    np.testing.assert_allclose(kernel[1] @ kernel[1].T, np.eye(2), atol=1e-6)
    assert not kernel[[0, 2]].any()


@pytest.mark.narrow
def test_orthogonal_is_what_jax_draws(key, init):
    drawn = init.orthogonal()(rb.random.key(3), (3, 2))
    wanted = [[-0.8998209, 0.28033638], [0.23798478, 0.95758665], [-0.36563033, -0.06662874]]
    np.testing.assert_allclose(drawn, wanted, atol=1e-6)


# The first numbers that jax 0.12 draws for key(0), shape (2, 2) and complex64.
COMPLEX = {
    "normal": (0.007099452428519726 - 0.0172707699239254j, -0.006408771499991417 - 0.014394434168934822j),
    "glorot_normal": (0.9814679622650146 + 0.04501064866781235j, 0.32668498158454895 + 0.04312971979379654j),
    "glorot_uniform": (0.91681307554245 + 0.04204554110765457j, 0.42338424921035767 + 0.05589618906378746j),
    "he_normal": (1.3880053758621216 + 0.06365466862916946j, 0.46200233697891235 + 0.06099463254213333j),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_numbers(name):
    init = getattr(rb.nn.initializers, name)()
    found = np.asarray(init(rb.random.key(0), (2, 2), "complex64"))
    assert found.dtype == np.complex64
    np.testing.assert_allclose(found.ravel()[:2], COMPLEX[name], rtol=1e-5)


@pytest.mark.parametrize("distribution", ["normal", "uniform", "truncated_normal"])
def test_complex_numbers_have_the_variance(distribution):
    init = rb.nn.initializers.variance_scaling(2.0, "fan_in", distribution)
    drawn = np.asarray(init(rb.random.key(1), (100, 300), "complex64"))
    assert abs(np.mean(np.abs(drawn) ** 2) * 50 - 1) < 0.03
    assert abs(drawn.mean()) < 0.01


def test_only_scaled_initializers_draw_complex_numbers():
    with pytest.raises(TypeError, match="draws real floating numbers, got the dtype complex64"):
        rb.nn.initializers.uniform()(rb.random.key(0), (2, 2), "complex64")


def test_a_dtype_that_cannot_be_is_of_both_classes():
    for error in (TypeError, ValueError):
        with pytest.raises(error, match="this initializer draws floating or complex numbers"):
            rb.nn.initializers.normal(dtype=int)(rb.random.key(0), (2,))
