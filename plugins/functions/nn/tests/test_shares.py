"""Derivatives of shares of exponentials where one of them rounds to 1: the others are all they consist of."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.nn as nn

pytestmark = pytest.mark.needs("cpu", "jit", "grad", "vmap")

POINTS = np.array([[0.0, 17.0, -3.0], [40.0, -1.0, 0.0], [5.0, 5.0, -60.0], [-30.0, -31.0, -31.5]], "f4")


def shares_and_rests(x):
    """The shares, and 1 less each of them as the sum of the others, by exact exponentials."""
    powers = np.exp(x.astype("f8") - x.max())
    others = np.array([powers[np.arange(3) != i].sum() for i in range(3)])
    return powers / powers.sum(), others / powers.sum()


def exact(x):
    """Value, first and second derivative of each function; nothing cancels but where the result is small."""
    s, rest = shares_and_rests(x)
    centered = np.diag(rest) - s * (1 - np.eye(3))  # [i, j]: (i == j) - s[j]
    slopes = s[:, None] * centered  # d s[i] / d x[j]
    twice = s[:, None, None] * (centered[:, :, None] * centered[:, None, :] - slopes)
    log = np.where(s > 0.5, np.log1p(-np.minimum(rest, 0.5)), np.log(s))
    return {
        "softmax": (s, slopes, twice),
        "log_softmax": (log, centered, np.broadcast_to(-slopes, (3, 3, 3))),
        "logsumexp": (x.max() - log[np.argmax(x)], s, slopes),
    }


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp"])
def test_derivatives_where_a_share_rounds_to_one(name):
    f, fw, rv = getattr(nn, name), rb.jacfwd, rb.jacrev
    orders = [f], [fw(f), rv(f)], [fw(fw(f)), fw(rv(f)), rv(fw(f)), rv(rv(f))]
    found = rb.jit(rb.vmap(lambda x: [[g(x) for g in order] for order in orders]))(POINTS)
    for i, x in enumerate(POINTS):
        wanted = exact(x)[name]
        for order in (1, 2):
            for got in found[order]:
                # 1 - 2 s of two halves: what is left is below their rounding. The first derivative
                # in reverse mode takes a share from 1.
                rounded = i == 2 or (name != "logsumexp" and got is found[1][1])
                np.testing.assert_allclose(
                    got[i], wanted[order], rtol=2e-5, atol=1.2e-7 if rounded else 1e-37
                )
        np.testing.assert_allclose(found[0][0][i], wanted[0], rtol=1e-6, atol=1.2e-7)


def test_a_mean_that_a_share_of_one_weighs_moves_with_the_others():
    """Over a batch and its gradient, mapped inside and outside; large changes in common drop out."""
    x, change = np.array([0.0, 30.0], "f4"), np.array([1.0, 3.0], "f4")
    small = np.exp(-30.0)
    for f in (nn.softmax, lambda x: rb.vmap(nn.softmax)(x[None])[0]):
        moved = rb.jvp(f, (x,), (change,))[1]
        np.testing.assert_allclose(moved, [-2 * small, 2 * small], rtol=1e-5)
        twice = rb.vmap(lambda x, f=f: rb.grad(lambda x: rb.vjp(f, x)[1](change)[0][0])(x))(x[None])[0]
        np.testing.assert_allclose(twice, [-2 * small, 2 * small], rtol=1e-5)


def test_a_gate_that_is_open_has_a_slope():
    x = np.array([2.0, 30.0], "f4")
    by_gate = rb.grad(lambda x: nn.glu(x)[0])(x)
    np.testing.assert_allclose(by_gate, [1.0, 2 * np.exp(-30.0)], rtol=1e-5)
    twice = rb.jacrev(rb.jacfwd(lambda x: nn.glu(x)[0]))(x)
    small = np.exp(-30.0)
    np.testing.assert_allclose(twice, [[0.0, small], [small, -2 * small]], rtol=1e-5)


def test_infinite_and_complex_numbers_are_as_they_were():
    inf = np.inf
    assert nn.logsumexp(np.array([-inf, -inf], "f4")) == -inf
    assert nn.logsumexp(np.array([inf, 0.0], "f4")) == inf
    assert nn.log_softmax(np.array([0.0, -inf], "f4")).tolist() == [0.0, -inf]
    z = np.array([1 + 1j, 2 - 1j], "c8")
    wanted = np.exp(z) / np.exp(z).sum()
    np.testing.assert_allclose(nn.softmax(z), wanted, rtol=1e-6)
    np.testing.assert_allclose(nn.log_softmax(z), np.log(wanted), rtol=1e-6)
    np.testing.assert_allclose(nn.logsumexp(z), np.log(np.exp(z).sum()), rtol=1e-6)
