"""Taylor mode under jax and under rabbet: values, dtypes and the shape of the answer."""

import jax
import jax.experimental.jet
import jax.numpy as jnp
import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental import jet

R = np.random.RandomState(0)
X = R.uniform(0.2, 0.9, (2, 3)).astype("f4")
SERIES = [R.randn(2, 3).astype("f4") for _ in range(4)]
W = R.randn(3, 2).astype("f4")

PROGRAMS = {
    "a network": lambda np, nn, x: np.tanh(x @ W + 1.0).sum(),
    "a softmax": lambda np, nn, x: nn.softmax(x * x),
    "transcendental": lambda np, nn, x: np.sin(x) * np.exp(-x) / np.sqrt(1 + x) + np.log(x) * np.cosh(x),
    "powers": lambda np, nn, x: x**3 + x**2.5 + 2.0**x,
    "shapes": lambda np, nn, x: np.concatenate([x.T, np.flip(x, 1).reshape(3, 2)])[1:5:2],
    "choices": lambda np, nn, x: np.where(x > 0.5, x * x, -x) + np.maximum(x, 0.4),
    "reductions": lambda np, nn, x: [x.max(0), x.mean(1), (x * x).sum()],
    "the error function": lambda np, nn, x: {"gelu": nn.gelu(x, approximate=False), "x": x},
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("factorial_scaled", [True, False])
def test_the_same_series(name, factorial_scaled):
    fn = PROGRAMS[name]
    mine = jet.jet(lambda x: fn(rnp, rb.nn, x), (X,), (SERIES,), factorial_scaled=factorial_scaled)
    theirs = jax.experimental.jet.jet(
        lambda x: fn(jnp, jax.nn, x), (X,), (SERIES,), factorial_scaled=factorial_scaled
    )
    assert str(rb.tree.structure(mine)) == str(jax.tree.structure(theirs))
    for got, wanted in zip(rb.tree.leaves(mine), jax.tree.leaves(theirs), strict=True):
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        scale = max(1.0, float(np.abs(wanted).max()))
        np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-4, atol=1e-5 * scale)
