"""Products of floats of 8 bits by a named algorithm."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

pytestmark = pytest.mark.needs("numpy", "float8_e4m3fn")
ANY = lax.DotAlgorithmPreset.ANY_F8_ANY_F8_F32


@pytest.mark.needs("jit")
def test_the_formats_of_the_operands_are_named():
    x, y = np.array([[1, 2], [3, 4]]), np.array([[1, 0.5], [3, 4]])
    a, b = rb.numpy.asarray(x, "float8_e4m3fn"), rb.numpy.asarray(y, "float8_e5m2")
    f = rb.jit(lambda a, b: lax.dot(a, b, precision=ANY, preferred_element_type="float32"))
    text = f.lower(a, b).as_text()
    assert "lhs_precision_type = f8E4M3FN, rhs_precision_type = f8E5M2, accumulation_type = f32" in text
    np.testing.assert_array_equal(f(a, b), x @ y)
    fast = lax.DotAlgorithmPreset.ANY_F8_ANY_F8_F32_FAST_ACCUM
    text = rb.jit(lambda a: lax.dot(a, a, precision=fast)).lower(a).as_text()
    assert "allow_imprecise_accumulation = true" in text


def test_other_operands_are_refused():
    with pytest.raises(TypeError, match="ANY_F8_ANY_F8_F32 multiplies floats of 8 bits, got f32"):
        lax.dot(rb.numpy.ones((2, 2)), rb.numpy.ones((2, 2)), precision=ANY)
