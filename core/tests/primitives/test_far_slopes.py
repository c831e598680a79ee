"""Slopes of asinh and atan2 where the squares of their operands overflow or vanish."""

import math

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

SIZES = {"float16": (3e4, 2e-4), "float32": (1e30, 1e-30), "float64": (1e300, 1e-300)}


@pytest.mark.needs("grad", "jvp")
@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("dtype", SIZES)
@rb.enable_x64(True)
def test_the_slope_of_asinh_far_out(dtype):
    number, eps = np.dtype(dtype).type, float(np.finfo(dtype).eps)
    large, small = SIZES[dtype]
    for x in (large, -large, 2 / math.sqrt(eps), 1.0, small, 0.0, math.inf):
        x = number(x)
        wanted = 0.0 if np.isinf(x) else 1 / math.hypot(1.0, float(x))
        for slope in (rb.grad(lax.asinh)(x), rb.jvp(lax.asinh, (x,), (number(1),))[1]):
            assert abs(float(slope) - wanted) <= 4 * eps * wanted, x
    x = number(1 / math.sqrt(SIZES[dtype][1]))
    bend = rb.grad(rb.grad(lax.asinh))(x)
    room = 16 * eps / float(x) + float(np.finfo(dtype).tiny) * float(x)
    assert abs(float(bend) * float(x) + 1 / float(x)) <= room
    assert np.isnan(rb.grad(lax.asinh)(number(math.nan)))


@pytest.mark.needs("grad", "jvp", "vmap")
@pytest.mark.parametrize("dtype", SIZES)
@rb.enable_x64(True)
def test_the_slopes_of_atan2_far_out_and_close_by(dtype):
    number, f = np.dtype(dtype).type, np.finfo(dtype)
    sizes = np.array([*SIZES[dtype], 1.0, float(f.max) / 4], dtype)
    y, x = (v.ravel() for v in np.meshgrid(sizes * number(0.75), -sizes))
    by_y, by_x = rb.vmap(rb.grad(lax.atan2, (0, 1)))(y, x)
    pushed = [rb.jvp(lax.atan2, (y, x), (np.full_like(y, a), np.full_like(y, 1 - a)))[1] for a in (1, 0)]
    for found, top in ((by_y, x), (pushed[0], x), (by_x, -y), (pushed[1], -y)):
        for a, b, up, out in zip(y, x, top, np.asarray(found), strict=True):
            size = math.hypot(a, b)
            wanted = float(up) / size / size
            assert abs(float(out) - wanted) <= 8 * float(f.eps) * abs(wanted) + float(f.tiny), (a, b)


@pytest.mark.needs("grad")
@pytest.mark.forbidden("debug_nans", "debug_infs", "enable_x64")
def test_the_slopes_of_atan2_at_infinity_and_beside_python_numbers():
    for y, x in ((np.inf, 1.0), (1.0, -np.inf), (np.inf, np.inf)):
        assert [float(v) for v in rb.grad(lax.atan2, (0, 1))(np.float32(y), np.float32(x))] == [0, 0]
    assert np.isnan(rb.grad(lax.atan2)(np.float32(np.nan), np.float32(1)))
    row = np.ones(3, np.float32)
    np.testing.assert_allclose(rb.grad(lambda x: lax.reduce_sum(lax.atan2(1.0, x), axes=(0,)))(row), -0.5)
    assert rb.grad(lambda y: lax.reduce_sum(lax.atan2(y, row), axes=(0,)))(1.0) == 1.5
