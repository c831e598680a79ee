"""What ``checkify`` must not do: change a value."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.experimental import checkify
from rabbet.testing import rows
from rabbet.testing.draws import device_array

pytestmark = pytest.mark.needs("jit", "numpy")
FAMILIES = {name: family[0] for name, family in rows.families().items()}

# Rows that read and write out of bounds.
OUTSIDE = ("dynamic", "gather", "scatter")


@pytest.mark.parametrize("family", FAMILIES)
def test_values_are_unchanged(family):
    row = FAMILIES[family]
    dtype = row.main_dtype()
    fn, args = row.function(dtype), [device_array(a) for a in row.draw(dtype)]
    wanted = fn(*args)
    checked = checkify.checkify(fn, errors=checkify.all_checks)
    for way in (checked, rb.jit(checked)):
        error, got = way(*args)
        assert (error.get() is not None) == (family in OUTSIDE)
        for x, y in zip(got, wanted, strict=True):
            assert (x.shape, x.dtype) == (y.shape, y.dtype)
            x, y = (
                np.asarray(lax.convert_element_type(v, "float32") if v.dtype == "bfloat16" else v)
                for v in (x, y)
            )
            np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-6)


@pytest.mark.forbidden("numpy_dtype_promotion")
def test_types_and_structures_are_unchanged():
    fn = lambda x, y: {"a": x + 1, "b": [y, (x * 2.0, None)]}
    for x in (1, 1.0, np.float32(1), np.int8([1, 2])):
        _, got = checkify.checkify(fn, errors=checkify.all_checks)(x, y=True)
        wanted = fn(rb.numpy.asarray(x) if hasattr(x, "dtype") else x, True)
        assert rb.tree.structure(got) == rb.tree.structure(wanted)
        assert got["a"].dtype == rb.typeof(wanted["a"]).dtype


def test_a_program_without_checks_is_not_made_longer():
    fn = lambda x: lax.sin(lax.cos(x))
    plain = rb.make_jaxpr(fn)(1.0)
    checked = rb.make_jaxpr(lambda x: checkify.checkify(fn)(x)[1])(1.0)
    assert len(checked.jaxpr.equations) == len(plain.jaxpr.equations)
