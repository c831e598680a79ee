"""64-bit operands where ``explicit_x64_dtypes`` refuses 64 bits that are written out: what the library makes
of such operands is not.
"""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

pytestmark = [pytest.mark.needs("numpy", "jit"), pytest.mark.narrow]

PROGRAMS = {
    "full_like": lambda rnp, x: lax.full_like(x, 3.0),
    "zeros_like": lambda rnp, x: rnp.zeros_like(x),
    "clip": lambda rnp, x: rnp.clip(x, 0.75, 1.0),
    "mean": lambda rnp, x: rnp.mean(x),
    "vander": lambda rnp, x: rnp.vander(x),
    "unique": lambda rnp, x: rnp.unique(x),
    "jit": lambda rnp, x: rb.jit(lambda x: lax.full_like(x, 2.0) * x)(x),
}


@pytest.mark.parametrize("value", ["error", "warn"])
@pytest.mark.parametrize("which", PROGRAMS)
def test_what_comes_of_wide_operands_is_wide(which, value):
    import rabbet.numpy as rnp

    x = lax.convert_element_type(np.float32([0.5, 2.0]), "float64")
    expected = PROGRAMS[which](rnp, x)
    with rb.config.override(explicit_x64_dtypes=value):
        out = PROGRAMS[which](rnp, x)
    assert out.dtype == expected.dtype == np.float64 and out.tolist() == expected.tolist()


@pytest.mark.parametrize(
    "ask",
    [
        lambda rnp, x: rnp.zeros(3, "float64"),
        lambda rnp, x: rnp.zeros(3, dtype=np.float64),
        lambda rnp, x: lax.full((2,), 1.0, np.dtype("float64")),
        lambda rnp, x: x.astype("float64"),
        lambda rnp, x: rnp.asarray(x, rnp.float64),
        lambda rnp, x: rb.jit(lambda x: x.astype(np.float64))(x),
        lambda rnp, x: rnp.sum(x, dtype="float64"),
    ],
    ids=range(7),
)
def test_what_is_written_out_is_refused(ask):
    import rabbet.numpy as rnp

    x = rb.device_put(np.float32([1, 2]))
    refused = pytest.raises(ValueError, match="float64 was asked for while")
    with rb.config.override(explicit_x64_dtypes="error"), refused:
        ask(rnp, x)
