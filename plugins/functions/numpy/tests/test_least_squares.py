"""Least squares: stacks of systems, and derivatives also where singular values are equal."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp

pytestmark = pytest.mark.needs("grad", "jvp", "vmap")

RANDOM = np.random.default_rng(0)
TALL, SIDE = RANDOM.normal(size=(2, 5, 3)), RANDOM.normal(size=(2, 5, 2))


@pytest.fixture(autouse=True)
def wide():
    with rb.config.override(enable_x64=True):
        yield


@pytest.mark.parametrize("lead", [((2,), (2,)), ((2,), ()), ((), (2,)), ((2, 1), (2,))])
@pytest.mark.parametrize("wide_matrix", [False, True])
def test_stacks_are_as_one_system_after_another(lead, wide_matrix):
    """Leading dimensions are broadcast; one of the systems has dependent columns."""
    a = TALL.copy()
    a[1, :, 2] = a[1, :, 0]
    b = SIDE
    if wide_matrix:
        a, b = a.swapaxes(1, 2), SIDE[:, :3]
    a, b = (x[:2] if shape else x[0] for x, shape in zip((a, b), lead, strict=True))
    if lead[0] == (2, 1):
        a = a[:, None]
    found = rnp.linalg.lstsq(a, b)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    for at in np.ndindex(*batch):
        wanted = np.linalg.lstsq(a[at], b[at], rcond=None)
        np.testing.assert_allclose(found[0][at], wanted[0], rtol=1e-9)
        np.testing.assert_allclose(found[1][at], np.square(a[at] @ wanted[0] - b[at]).sum(0), atol=1e-12)
        assert int(found[2][at]) == wanted[2]
        np.testing.assert_allclose(found[3][at], wanted[3], atol=1e-12)


def test_a_vector_and_bounds_for_each_matrix():
    a = np.stack([np.diag([1.0, 0.1]), np.diag([1.0, 0.1])])
    x, residuals, rank, _ = rnp.linalg.lstsq(a, np.array([1.0, 1.0]), rnp.array([0.5, 0.01]))
    np.testing.assert_allclose(x, [[1, 0], [1, 10]])
    assert residuals.shape == (2, 1)
    assert np.asarray(rank).tolist() == [1, 2]
    assert rnp.linalg.lstsq(a, np.ones(2), numpy_resid=True)[1].shape == (2, 0)


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r"lstsq takes a of shape \(\.\.\., m, n\) and b of shape"):
        rnp.linalg.lstsq(TALL, SIDE[:, :4])


Q = np.linalg.qr(RANDOM.normal(size=(4, 4)) + 1j * RANDOM.normal(size=(4, 4)))[0]
TURN = np.linalg.qr(RANDOM.normal(size=(4, 4)))[0]
CASES = {
    "identity": np.eye(3),
    "orthonormal columns": np.linalg.qr(RANDOM.normal(size=(4, 2)))[0],
    "more columns than rows": TURN[:2],
    "equal but for rounding": TURN @ np.diag([2.0, 1, 1, 1]) @ TURN.T,
    "complex": Q @ np.diag([2.0, 1, 1, 1]) @ Q.conj().T,
    "apart": TALL[0],
}


@pytest.mark.parametrize("name", CASES)
def test_derivatives_of_first_and_second_order_where_singular_values_are_equal(name):
    a = CASES[name]
    kind = (lambda x: x + 1j * x[::-1]) if name == "complex" else lambda x: x
    da = kind(RANDOM.normal(size=a.shape))
    b, db = (kind(RANDOM.normal(size=(a.shape[0], 2))) for _ in range(2))
    weights = RANDOM.normal(size=(a.shape[1], 2))

    def loss(t):
        x, residuals, _, s = rnp.linalg.lstsq(a + t * da, b + t * db)
        out = rnp.sum(rnp.sin(rnp.real(x) * weights) + rnp.imag(x)) + rnp.sum(residuals)
        return out + rnp.sum(s**2) if name == "apart" else out

    step = 1e-4
    low, middle, high = (float(loss(t)) for t in (-step, 0.0, step))
    first, second = (high - low) / (2 * step), (high - 2 * middle + low) / step**2

    @rb.jit
    def all_of_them(t):
        one = lambda t: rb.jvp(loss, (t,), (1.0,))[1]
        back = rb.grad(loss)
        return one(t), back(t), rb.jvp(one, (t,), (1.0,))[1], rb.grad(one)(t), rb.grad(back)(t)

    forward, reverse, *twice = map(float, all_of_them(0.0))
    assert forward == pytest.approx(first, rel=1e-5, abs=1e-6)
    assert reverse == pytest.approx(forward, rel=1e-9)
    for found in twice:
        assert found == pytest.approx(second, rel=1e-4, abs=1e-4)


def test_derivatives_of_mapped_systems():
    def loss(a, b):
        return rnp.sum(rnp.linalg.lstsq(a, b)[0] ** 2)

    mapped = rb.vmap(rb.grad(loss, (0, 1)), (0, None))(TALL, SIDE[0])
    stacked = rb.grad(lambda a, b: rnp.sum(rnp.linalg.lstsq(a, b)[0] ** 2), (0, 1))(TALL, SIDE[0])
    np.testing.assert_allclose(mapped[0], stacked[0], rtol=1e-9)
    np.testing.assert_allclose(np.sum(mapped[1], 0), stacked[1], rtol=1e-9)
