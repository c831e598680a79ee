"""Derivatives where operands are equal or zero, and at infinities: closed forms, in every order."""

import math

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp

autodiff = pytest.importorskip("rabbet_autodiff")
FUNCTIONS = {"logaddexp": (rnp.logaddexp, 1.0), "logaddexp2": (rnp.logaddexp2, math.log(2))}


def all_up_to_third(f, x, y):
    g = rb.grad
    derivatives = [g(f, 0), g(f, 1), g(g(f, 0), 0), g(g(f, 0), 1), g(g(f, 1), 1), g(g(g(f, 0), 0), 1)]
    return [float(d(x, y)) for d in derivatives]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("x", "y"), [(1.0, 1.0), (0.0, 0.0), (2.0, -3.0), (-1.5, -1.0)])
def test_sums_of_exponentials(name, x, y):
    f, scale = FUNCTIONS[name]
    share = 1 / (1 + math.exp(scale * (y - x)))
    second = scale * share * (1 - share)
    third = -scale * second * (1 - 2 * share)
    np.testing.assert_allclose(
        all_up_to_third(f, x, y), [share, 1 - share, second, -second, second, third], rtol=2e-6, atol=1e-7
    )


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    ("x", "y", "share"), [(-np.inf, 0.0, 0), (np.inf, 1.0, 1), (np.inf, np.inf, 0.5), (-np.inf, -np.inf, 0.5)]
)
def test_sums_of_exponentials_at_infinities(name, x, y, share):
    f, _ = FUNCTIONS[name]
    assert float(f(x, y)) == max(x, y)
    assert all_up_to_third(f, x, y) == [share, 1 - share, 0, 0, 0, 0]


def test_sums_of_exponentials_are_mapped_and_broadcast():
    x = np.float32([[0.0], [1.0]])
    found = rb.vmap(rb.grad(lambda a: rnp.sum(rnp.logaddexp(a, np.float32([0.0, 1.0])))))(x)
    np.testing.assert_allclose(found[:, 0], [0.5 + 1 / (1 + math.e), 0.5 + math.e / (1 + math.e)], rtol=1e-6)
    assert rnp.logaddexp(1, 2).weak_type and rnp.logaddexp(np.complex64(1j), 0).dtype == np.complex64


@pytest.mark.forbidden("numpy_rank_promotion")
@pytest.mark.parametrize(("x", "y"), [(1.0, 1.0), (3.0, -4.0), (2.0, 0.0), (0.0, 2.0)])
def test_lengths(x, y):
    h = math.hypot(x, y)
    first, second = [x / h, y / h], [y * y / h**3, -x * y / h**3, x * x / h**3]
    np.testing.assert_allclose(all_up_to_third(rnp.hypot, x, y)[:5], [*first, *second], rtol=1e-6, atol=1e-7)
    assert rnp.hypot(3, 4) == 5 and rnp.hypot(np.ones((2, 1)), np.ones(3)).shape == (2, 3)


def test_powers_with_the_exponent_zero():
    f, g = rnp.power, rb.grad
    assert [float(g(g(f, 0), 1)(2.0, 0.0)), float(g(f, 0)(0.0, 0.0)), float(g(g(f))(0.0, 1.0))] == [0.5, 0, 0]
    assert float(rb.grad(lambda x: rnp.sum(x ** np.float32([0, 1, 2])))(3.0)) == 7


def test_the_bessel_function_at_zero():
    assert [float(rb.grad(rnp.i0)(0.0)), float(rb.grad(rb.grad(rnp.i0))(0.0))] == [0, 0.5]


def test_running_sums_of_narrow_integers_have_the_dtype_of_sums():
    for dtype in ("int8", "uint8", "int16", "int32", "bool", "float16"):
        x = rnp.ones(200, dtype)
        assert rnp.cumulative_sum(x).dtype == rnp.sum(x).dtype and float(rnp.cumulative_sum(x)[-1]) == 200
    assert rnp.cumulative_sum(rnp.ones(2, "int8"), dtype="int16").dtype == np.int16
