"""Products of bfloat16 are sums in float32, rounded once, with every jaxlib."""

import numpy as np
import pytest
from rabbet import lax


def test_products_of_bfloat16_are_rounded_once():
    pytest.importorskip("rabbet_bfloat16", reason="the package rabbet-bfloat16 is not installed")
    random = np.random.default_rng(0)
    x, y = (lax.convert_element_type(random.normal(size=(64, 64)), "bfloat16") for _ in range(2))
    out = lax.dot(x, y)
    assert out.dtype == "bfloat16"
    wide = lax.dot(lax.convert_element_type(x, "float32"), lax.convert_element_type(y, "float32"))
    rounded = lax.convert_element_type(wide, "bfloat16")
    # The sums of the two may differ in the last bit of float32, so that a few are rounded the other way.
    differing = np.asarray(lax.ne(out, rounded)).mean()
    np.testing.assert_allclose(*[np.asarray(v).astype("float32") for v in (out, rounded)], rtol=2**-7)
    assert differing < 0.01
