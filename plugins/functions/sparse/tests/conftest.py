import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def draw(rng):
    """An array of small integers, most of them zero: sums of products of such are exact in float32."""

    def drawn(*shape, density=0.4, dtype="float32"):
        kept = rng.random(shape) < density
        return (rng.integers(1, 9, shape) * kept).astype(dtype)

    return drawn
