"""Activations: values against formulas in double precision, derivatives, dtypes, extremes, messages."""

import math

import numpy as np
import pytest
import rabbet as rb
import rabbet.nn as nn
import rabbet.numpy as rnp

X = np.array([-50.0, -3.0, -1.0, -0.25, 0.0, 0.25, 1.0, 3.0, 6.0, 50.0], "f4")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.logaddexp(x, 0)


SCALE, ALPHA = 1.0507009873554805, 1.6732632423543772
FORMULAS = {
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "sigmoid": sigmoid,
    "softplus": softplus,
    "log_sigmoid": lambda x: -softplus(-x),
    "soft_sign": lambda x: x / (1 + np.abs(x)),
    "silu": lambda x: x * sigmoid(x),
    "swish": lambda x: x * sigmoid(x),
    "mish": lambda x: x * np.tanh(softplus(x)),
    "tanh": np.tanh,
    "identity": lambda x: x,
    "gelu": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "celu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "selu": lambda x: SCALE * np.where(x > 0, x, ALPHA * np.expm1(np.minimum(x, 0))),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "hard_sigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "hard_silu": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "hard_swish": lambda x: x * np.clip(x + 3, 0, 6) / 6,
    "squareplus": lambda x: (x + np.sqrt(x * x + 4)) / 2,
    "sparse_plus": lambda x: np.where(x <= -1, 0, np.where(x >= 1, x, (x + 1) ** 2 / 4)),
    "sparse_sigmoid": lambda x: np.clip((x + 1) / 2, 0, 1),
}


BESIDE_A_NUMBER = (
    "relu6", "elu", "celu", "selu", "leaky_relu", "hard_sigmoid", "hard_silu", "hard_swish", "sparse_plus",
    "sparse_sigmoid",
)  # fmt: skip


@pytest.mark.parametrize("name", FORMULAS)
def test_formula(name):
    found = getattr(nn, name)(X)
    np.testing.assert_allclose(found, FORMULAS[name](X.astype("f8")), rtol=2e-6, atol=1e-6)
    assert found.dtype == np.float32


@pytest.mark.parametrize("name", FORMULAS)
def test_types(name):
    function = getattr(nn, name)
    assert function(rnp.ones(2, "float16")).dtype == np.float16
    assert function(1.5).weak_type
    assert function(np.ones(2, "i4")).dtype == (
        np.int32 if name in ("relu", "hard_tanh", "identity") else np.float32
    )
    with pytest.raises(TypeError, match=r"takes an array|takes arrays"):
        function([1.0])
    # Integers beside a Python float, as in ``x * 1.5``, give a weak type.
    assert function(np.ones(2, "i4")).weak_type == (name in BESIDE_A_NUMBER)


def test_squareplus_promotes_what_it_adds():
    x, b = X[:2], np.arange(6, dtype="f4").reshape(3, 2)
    right = (x + np.sqrt(x.astype("f8") ** 2 + b)) / 2
    np.testing.assert_allclose(nn.squareplus(x, b), right, rtol=2e-6)
    found = nn.squareplus(x.astype("f2"), b)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, right, rtol=1e-3)


@pytest.mark.needs("grad", "vmap")
@pytest.mark.parametrize("name", FORMULAS)
def test_derivative_is_finite_and_right(name):
    """Against central differences, away from kinks; finite everywhere."""
    slope = rb.vmap(rb.grad(getattr(nn, name)))(X)
    assert np.isfinite(slope).all()
    points, h = X[[1, 3, 5, 7]].astype("f8") + 0.01, 1e-6
    wanted = (FORMULAS[name](points + h) - FORMULAS[name](points - h)) / (2 * h)
    np.testing.assert_allclose(
        rb.vmap(rb.grad(getattr(nn, name)))(points.astype("f4")), wanted, rtol=1e-4, atol=1e-5
    )


@pytest.mark.forbidden("debug_nans")
@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_unknown_values_stay_unknown(name, dtype):
    assert np.isnan(getattr(nn, name)(np.array([np.nan], dtype))).all()


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("name", ["relu", "relu6", "hard_sigmoid", "hard_silu", "hard_tanh", "gelu"])
def test_nan_stays_nan(name):
    found = np.asarray(getattr(nn, name)(np.array([np.nan, np.inf], np.float32)))
    assert np.isnan(found[0]) and found[1] > 0
    assert not np.signbit(np.asarray(nn.relu(np.float32([-0.0, -1.0])))).any()


@pytest.mark.forbidden("debug_nans")
@pytest.mark.needs("grad")
def test_derivative_of_relu_at_zero_is_zero():
    assert rb.grad(nn.relu)(0.0) == 0
    assert rb.grad(nn.relu6)(6.0) == 0
    assert rb.grad(nn.relu)(np.nan) == rb.grad(nn.relu6)(np.nan) == 0


def test_parameters():
    np.testing.assert_allclose(nn.elu(-1.0, 2.0), 2 * math.expm1(-1), rtol=1e-6)
    np.testing.assert_allclose(nn.celu(-1.0, 2.0), 2 * math.expm1(-0.5), rtol=1e-6)
    np.testing.assert_allclose(nn.leaky_relu(X, 0.5), np.where(X > 0, X, 0.5 * X))
    exact = [x / 2 * math.erfc(-x / math.sqrt(2)) for x in X.tolist()]
    np.testing.assert_allclose(nn.gelu(X, approximate=False), exact, rtol=1e-5, atol=1e-6)
    points = np.array([0.01, 0.5, 5.0, 30.0])
    np.testing.assert_allclose(nn.log1mexp(points.astype("f4")), np.log1p(-np.exp(-points)), rtol=1e-5)


def test_glu():
    x = np.arange(6, dtype="f4").reshape(1, 6)
    np.testing.assert_allclose(nn.glu(x), x[:, :3] * sigmoid(x[:, 3:]), rtol=1e-6)
    assert nn.glu(np.ones((4, 3), "f4"), axis=0).shape == (2, 3)
    with pytest.raises(ValueError, match="even number of elements along axis -1"):
        nn.glu(np.ones(3, "f4"))


def test_names_that_are_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'Dense'"):
        _ = nn.Dense


@pytest.mark.narrow
@pytest.mark.parametrize(
    "name", "relu6 elu celu selu leaky_relu hard_sigmoid hard_silu sparse_plus sparse_sigmoid".split()
)
def test_integers_beside_numbers_have_the_dtype_of_python_floats(name):
    x = np.arange(3, dtype="int32")
    assert getattr(nn, name)(x).dtype == "float32"
    with rb.config.override(enable_x64=True):
        assert getattr(nn, name)(x).dtype == "float64"
        assert getattr(nn, name)(x.astype("float32")).dtype == "float32"


def test_hard_tanh_of_unsigned_integers():
    found = nn.hard_tanh(rnp.array([0, 1, 7], "uint32"))
    assert found.dtype == np.uint32 and found.tolist() == [0, 1, 1]


Z = np.array([1 + 2j, -1 + 1j, 7 - 1j, -4, 1 - 1j, 0.5 - 3j], "c8")
ORDERED = {
    "relu": lambda z: z if z.real > 0 else 0,
    "relu6": lambda z: 0 if z.real < 0 else 6 if z.real > 6 else z,
    "elu": lambda z: z if z.real > 0 else np.expm1(z),
    "celu": lambda z: z if z.real > 0 else np.expm1(z),
    "selu": lambda z: SCALE * (z if z.real > 0 else ALPHA * np.expm1(z)),
    "leaky_relu": lambda z: z if z.real > 0 else 0.01 * z,
    "soft_sign": lambda z: z / (1 + abs(z)),
    "squareplus": lambda z: (z + np.sqrt(z**2 + 4)) / 2,
    "hard_sigmoid": lambda z: ORDERED["relu6"](z + 3) / 6,
    "hard_silu": lambda z: z * ORDERED["relu6"](z + 3) / 6,
}


@pytest.mark.parametrize("name", ORDERED)
def test_complex_numbers_are_ordered_by_their_real_part(name):
    found = np.asarray(getattr(nn, name)(Z))
    assert found.dtype == np.complex64
    np.testing.assert_allclose(found, [ORDERED[name](complex(z)) for z in Z], rtol=2e-6, atol=1e-6)


def test_equal_real_parts_are_ordered_by_the_imaginary_ones():
    at_one, at_minus_one = np.array([1 + 2j, 1 - 1j], "c8"), np.array([-1 + 1j, -1 - 2j], "c8")
    assert nn.hard_tanh(at_one).tolist() == [1, 1 - 1j]
    assert nn.hard_tanh(at_minus_one).tolist() == [-1 + 1j, -1]
    assert nn.sparse_plus(at_one).tolist() == [1 + 2j, 0.75 - 1j]
    assert nn.sparse_plus(at_minus_one).tolist() == [-0.25, 0]


@pytest.mark.narrow
def test_booleans_are_integers_beside_numbers():
    for name in ("relu", "hard_tanh"):
        found = getattr(nn, name)(np.array([True, False]))
        assert found.dtype == "int32" and found.weak_type and found.tolist() == [1, 0]


def test_log1mexp_of_complex_numbers():
    z = np.array([0.25 + 1j, 2 - 1j], "c8")
    np.testing.assert_allclose(nn.log1mexp(z), np.log(1 - np.exp(-z)), rtol=2e-6)
