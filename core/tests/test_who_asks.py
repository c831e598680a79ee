"""Settings that refuse silent changes are about the user's operations, not about what libraries do inside."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import TypePromotionError

rnp = pytest.importorskip("rabbet.numpy")
pytestmark = pytest.mark.needs("numpy", "jit", "vmap", "bfloat16", "scipy")


def test_ranks_of_the_users_operations_are_refused():
    with rb.config.override(numpy_rank_promotion="raise"):
        for call in (lambda: rnp.ones(3) + rnp.ones((2, 3)), lambda: rnp.add(rnp.ones(3), rnp.ones((2, 3)))):
            with pytest.raises(ValueError, match="differ in rank"):
                call()
            with pytest.raises(ValueError, match="differ in rank"):
                rb.jit(call)()
        with pytest.raises(ValueError, match="differ in rank"):
            rnp.vectorize(lambda a, b: a + b)(rnp.ones(3), rnp.ones((2, 3)))


@pytest.mark.needs("nn", "random", "scipy")
def test_libraries_work_under_it():
    with rb.config.override(numpy_rank_promotion="raise", numpy_dtype_promotion="strict"):
        q = rb.nn.initializers.orthogonal()(rb.random.key(0), (4, 2))
        np.testing.assert_allclose(q.T @ q, np.eye(2), atol=1e-5)
        np.testing.assert_array_equal(rb.scipy.linalg.expm(rnp.zeros((2, 3, 3)))[1], np.eye(3))
        counts, _, _ = rnp.histogram2d(rnp.array([0, 1, 1]), rnp.array([0, 0, 1]), bins=2)
        assert counts.tolist() == [[1, 0], [1, 1]]
        assert float(rnp.quantile(rnp.array([1, 2, 3], "bfloat16"), rnp.array([0.5]))[0]) == 2.0


def test_dtypes_of_the_users_operations_are_refused():
    with rb.config.override(numpy_dtype_promotion="strict"):
        with pytest.raises(TypePromotionError, match="strict"):
            rnp.ones(2, "bfloat16") + rnp.ones(2)
        with pytest.raises(TypePromotionError, match="strict"):
            rb.jit(lambda x: rb.vmap(lambda v: v * rnp.ones((), "int8"))(x))(rnp.ones(2))


def test_loops_between_floats():
    assert float(lax.fori_loop(0.0, 2.5, lambda i, c: c + i, 1.0)) == 4.0
    assert float(rb.jit(lambda n: lax.fori_loop(0.0, n, lambda i, c: c + i, 1.0))(2.5)) == 4.0
    slope = rb.grad(lambda x: lax.fori_loop(x, x + 2.0, lambda i, c: c * i, x))(3.0)
    assert float(slope) == 3 * 3**2 + 2 * 3  # of x * x * (x + 1)
