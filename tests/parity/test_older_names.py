"""Polynomials, index tricks, histograms, bits and changed copies beside jax.numpy: values, shapes, dtypes
and weak types of the table of the package's own tests.
"""

import importlib.util
import pathlib

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

import rabbet as rb  # noqa: E402
import rabbet.numpy as rnp  # noqa: E402

PLACE = pathlib.Path(__file__).resolve().parents[2] / "plugins/functions/numpy/tests/test_older_names.py"
SPEC = importlib.util.spec_from_file_location("older_names", PLACE)
table = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(table)

# What differs, and why.
DIFFERENT = {
    "frexp": "jax takes denormal numbers for 0",
    "spacing": "jax has NaN's sign, and 0 for denormal numbers",
    "spacing of denormals": "jax takes denormal numbers for 0",
}


def kinds(x):
    return x.shape, np.dtype(x.dtype).name, bool(getattr(x, "weak_type", False))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in table.CASES if name not in DIFFERENT])
def test_beside_jax(name):
    try:
        wanted = jax.tree.leaves(table.CASES[name](jnp))
    except (TypeError, NotImplementedError, ValueError) as error:
        pytest.skip(f"jax.numpy refuses it: {error}")
    found = rb.tree.leaves(table.CASES[name](rnp))
    assert [kinds(x) for x in found] == [kinds(x) for x in wanted]
    for x, y in zip(found, wanted, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        scale = 5e-5 * float(np.max(np.abs(y[np.isfinite(y)]), initial=0)) if y.dtype.kind in "fc" else 0
        np.testing.assert_allclose(x, y, rtol=5e-5, atol=scale)
