"""Complex functions of infinite and unknown parts: C99's annex G, as NumPy has it, in both precisions."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp

pytestmark = pytest.mark.needs("jit")

PARTS = [0.0, -0.0, 1.0, -1.0, 2.5, np.inf, -np.inf, np.nan]
POINTS = np.array([complex(a, b) for a in PARTS for b in PARTS])
NAMES = (
    "sin cos tan sinh cosh tanh exp exp2 expm1 log log2 log10 log1p sqrt arcsin arccos arctan arcsinh "
    "arccosh arctanh sign abs angle square"
).split()


def right(name, z):
    with np.errstate(all="ignore"):
        out = np.array(getattr(np, name)(z))
    if name == "expm1":  # NumPy's own is unknown where exp is known
        lost = np.isinf(z.real) & (np.isneginf(z.real) | (z.imag == 0)) | (np.isnan(z.real) & (z.imag == 0))
        with np.errstate(all="ignore"):
            out[lost] = np.exp(z[lost])
            out.real[lost] -= 1
    return out


def check(name, z, found):
    found, wanted = np.asarray(found), right(name, z)
    open_sign = np.isnan(z) | (np.isinf(z.real) & np.isinf(z.imag))  # the sign of a part may be unspecified
    for part in (np.real, np.imag):
        a, b = part(found), part(wanted)
        a, b = np.where(open_sign, np.abs(a), a), np.where(open_sign, np.abs(b), b)
        np.testing.assert_allclose(a, b, rtol=1e-5, err_msg=name)


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_compiled(dtype):
    with rb.enable_x64(dtype == "complex128"):
        z = POINTS.astype(dtype)
        for name, found in rb.jit(lambda z: {n: getattr(rnp, n)(z) for n in NAMES})(z).items():
            assert found.dtype == dtype or name in ("abs", "angle")
            check(name, z, found)


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("name", NAMES)
def test_step_by_step(name):
    z = POINTS.astype("complex64")
    check(name, z, getattr(rnp, name)(z))
