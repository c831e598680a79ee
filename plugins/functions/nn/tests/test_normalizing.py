"""Softmax and its relatives, standardization, one-hot codes, attention."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.nn as nn
import rabbet.numpy as rnp

X = np.random.RandomState(0).randn(3, 4).astype("f4")
MASK = np.array([[True, False, True, True]] * 2 + [[False, True, False, False]])


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize("axis", [-1, 0, (0, 1), None])
def test_softmax_and_its_logarithm(axis):
    wanted = softmax(X.astype("f8"), axis)
    np.testing.assert_allclose(nn.softmax(X, axis), wanted, rtol=1e-5)
    np.testing.assert_allclose(nn.log_softmax(X, axis), np.log(wanted), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(nn.logsumexp(X, axis), np.log(np.exp(X.astype("f8")).sum(axis)), rtol=1e-5)


@pytest.mark.forbidden("debug_infs")
def test_large_and_infinite_numbers():
    x = np.array([1e4, 1e4 - 1, -1e4, -np.inf], "f4")
    np.testing.assert_allclose(nn.softmax(x), softmax(x.astype("f8"), 0), rtol=1e-6)
    assert np.isfinite(np.asarray(nn.log_softmax(x))[:3]).all()
    assert nn.logsumexp(np.full(3, -np.inf, "f4")) == -np.inf
    assert nn.logsumexp(np.array([np.inf, 0], "f4")) == np.inf
    np.testing.assert_allclose(nn.logsumexp(np.array([1e4, 1e4], "f4")), 1e4 + np.log(2), rtol=1e-7)


@pytest.mark.forbidden("debug_infs")
def test_masks():
    found = np.asarray(nn.softmax(X, where=MASK))
    assert (found[~MASK] == 0).all()
    np.testing.assert_allclose(found.sum(-1), 1, rtol=1e-6)
    assert (np.asarray(nn.log_softmax(X, where=MASK))[~MASK] == -np.inf).all()
    wanted = [np.log(np.exp(row[m]).sum()) for row, m in zip(X, MASK)]
    np.testing.assert_allclose(nn.logsumexp(X, -1, where=MASK), wanted, rtol=1e-5)
    np.testing.assert_allclose(
        nn.logmeanexp(X, -1, where=MASK), wanted - np.log(MASK.sum(-1)), rtol=1e-4, atol=1e-6
    )


def test_factors_and_signs():
    b = np.array([1.0, -2.0, 0.5, 0.0], "f4")
    total = (b * np.exp(X.astype("f8"))).sum(-1)
    value, sign = nn.logsumexp(X, -1, b=b, return_sign=True)
    np.testing.assert_allclose(value, np.log(np.abs(total)), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(sign, np.sign(total))
    assert nn.logsumexp(X, 0, keepdims=True).shape == (1, 4)


@pytest.mark.needs("grad", "jit")
def test_derivatives():
    """Of log-sum-exp: the softmax. Of log-softmax summed: one minus n times it. And finite where
    exponentials overflow.
    """
    np.testing.assert_allclose(rb.grad(nn.logsumexp)(X[0]), softmax(X[0], -1), rtol=1e-5)
    slope = rb.grad(lambda x: rnp.sum(nn.log_softmax(x)))(X[0])
    np.testing.assert_allclose(slope, 1 - 4 * softmax(X[0], -1), rtol=1e-4, atol=1e-5)
    assert np.isfinite(rb.jit(rb.grad(lambda x: nn.log_softmax(x)[0]))(np.array([1e4, -1e4], "f4"))).all()


@pytest.mark.optimized
@pytest.mark.needs("grad", "jit")
def test_a_derivative_keeps_the_result_alone():
    """And no array of powers beside it: slopes of attention need two arrays of scores, not three."""
    x = np.zeros((256, 256), "f4")
    f = lambda x, v: ((nn.softmax(x * 2) @ v) ** 2).sum()
    made = rb.jit(rb.grad(f, (0, 1))).lower(x, x).compile()
    assert made.memory_analysis().temp_size_in_bytes <= 2.5 * x.nbytes


@pytest.mark.needs("grad", "jit", "vmap")
def test_second_derivatives_of_softmax():
    """Against formulas made by hand; compiled and not; and over two axes as over one of all elements."""
    p = softmax(X[0].astype("f8"), -1)
    slope = np.diag(p) - np.outer(p, p)
    to_first = np.eye(4)[0] - p
    second = p[0] * (np.outer(to_first, to_first) - slope)
    first = lambda x: nn.softmax(x)[0]
    for run in (lambda f: f, rb.jit):
        np.testing.assert_allclose(run(rb.grad(first))(X[0]), slope[0], rtol=1e-4, atol=1e-6)
        found = run(lambda x: rb.vmap(rb.grad(lambda x, i: rb.grad(first)(x)[i]), (None, 0))(x, np.arange(4)))
        np.testing.assert_allclose(found(X[0]), second, rtol=1e-3, atol=1e-6)
    weights = rnp.arange(12.0).reshape(3, 4)
    over = lambda x, axis: (nn.softmax(x, axis) * weights).sum()
    turned = rb.grad(lambda x: over(x, (0, 1)))(X)
    flat = rb.grad(lambda x: (nn.softmax(x) * weights.reshape(-1)).sum())(X.reshape(-1))
    np.testing.assert_allclose(turned.reshape(-1), flat, rtol=1e-4, atol=1e-6)


def test_standardize():
    found = nn.standardize(X)
    np.testing.assert_allclose(np.mean(found, -1), 0, atol=1e-6)
    np.testing.assert_allclose(np.var(found, -1), 1, rtol=1e-3)
    np.testing.assert_allclose(nn.standardize(X, mean=0.0, variance=4.0, epsilon=0.0), X / 2, rtol=1e-6)


def test_one_hot():
    assert nn.one_hot(np.array([0, 2, 5, -1]), 3).tolist() == [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]
    assert nn.one_hot(np.array([0, 1]), 3, axis=0, dtype="int8").shape == (3, 2)
    assert nn.one_hot(1, 2).tolist() == [0, 1]
    assert nn.one_hot(np.array([True, False]), 3).tolist() == [[0, 1, 0], [1, 0, 0]]
    with pytest.raises(ValueError, match="axis 3 is out of range"):
        nn.one_hot(np.array([0]), 2, axis=3)


def test_ways_to_standardize_and_places_of_results():
    wanted = nn.standardize(X)
    for algorithm in ("fast", "stable"):
        assert np.asarray(nn.standardize(X, algorithm=algorithm)).tolist() == np.asarray(wanted).tolist()
    with pytest.raises(ValueError, match="algorithm must be 'fast' or 'stable', got 'slow'"):
        nn.standardize(X, algorithm="slow")
    for made in (
        lambda s: nn.one_hot(np.array([1, 0]), 2, out_sharding=s),
        lambda s: nn.initializers.ones(None, (2,), out_sharding=s),
    ):
        assert made(wanted.sharding).committed and not made(None).committed
        with pytest.raises(TypeError, match="out_sharding must be None or a Sharding"):
            made("everywhere")


@pytest.mark.needs("jit", "grad")
@pytest.mark.parametrize("function", [nn.softmax, nn.log_softmax, nn.logsumexp])
def test_the_maximum_that_is_subtracted_leaves_no_barrier(function):
    """With one, a loop over small arrays is not compiled as one kernel on CPUs."""
    slope = rb.jit(rb.grad(lambda x: rnp.sum(function(x, -1) ** 2)))
    assert "optimization_barrier" not in slope.lower(rnp.array(X)).as_text()
