"""The checks pass what is right, in every dtype and order, and find what is wrong."""

from functools import partial

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.test_util import check_grads, check_jvp, check_vjp


def wide(*shape):
    return lax.convert_element_type(np.random.RandomState(1).uniform(0.5, 1.5, shape), "float64")


def tree_function(params, x, n):
    return {"a": lax.sin(params["w"]) * x, "b": [lax.exp(x) * n, n]}


@pytest.mark.forbidden("numpy_dtype_promotion", "explicit_x64_dtypes")
@pytest.mark.parametrize("order", [1, 2, 3])
def test_right_derivatives_pass(order):
    check_grads(lambda x: lax.sin(x) * x, (wide(3),), order)
    check_grads(tree_function, ({"w": wide(2)}, wide(2), np.int32([1, 2])), min(order, 2))


@pytest.mark.forbidden("explicit_x64_dtypes")
def test_narrow_and_complex_dtypes():
    check_grads(lambda x: lax.tanh(x) * x, (np.float32([0.3, -1.2]),), 2)
    check_grads(lambda x: lax.mul(x, x), (lax.convert_element_type(np.float32([0.5, 1.5]), "float16"),), 1)
    z = lax.convert_element_type(np.array([0.3 + 0.2j, -1.0 + 0.7j]), "complex128")
    check_grads(lambda z: lax.exp(z) * z, (z,), 2)
    check_grads(lambda x: lax.tanh(x), (0.25,), 1, modes="rev")


@rb.custom_jvp
def off(x):
    return lax.sin(x)


off.defjvp(lambda primals, tangents: (lax.sin(primals[0]), tangents[0] * lax.cos(primals[0]) * 1.001))


@rb.custom_jvp
def off_at_second_order(x):
    return lax.sin(x)


off_at_second_order.defjvp(
    lambda primals, tangents: (lax.sin(primals[0]), tangents[0] * lax.stop_gradient(lax.cos(primals[0])))
)


@pytest.mark.forbidden("explicit_x64_dtypes")
def test_wrong_derivatives_are_found():
    for modes in ("fwd", "rev"):
        with pytest.raises(AssertionError, match=f"{'jvp' if modes == 'fwd' else 'vjp'} of off"):
            check_grads(off, (wide(3),), 1, modes=modes)
        check_grads(off, (wide(3),), 1, modes=modes, rtol=1e-2, atol=1e-2)
        check_grads(off_at_second_order, (wide(3),), 1, modes=modes)
        with pytest.raises(AssertionError, match=r"of \wvp of|of off_at"):
            check_grads(off_at_second_order, (wide(3),), 2, modes=modes)


@pytest.mark.forbidden("explicit_x64_dtypes")
def test_single_derivatives():
    def f(x, y):
        return x * y, lax.cos(x)

    args = wide(2), wide(2)
    check_jvp(f, partial(rb.jvp, f), args)
    check_vjp(f, partial(rb.vjp, f), args)
    with pytest.raises(AssertionError, match=r"mine: the tangent \[0\] is off"):
        check_jvp(f, lambda p, t: (f(*p), (p[0] * t[1], rb.jvp(f, p, t)[1][1])), args, err_msg="mine")
    with pytest.raises(AssertionError, match="the product with a direction"):
        check_vjp(f, lambda *p: (f(*p), lambda ct: (p[0], p[1])), args)
    with pytest.raises(AssertionError, match="the value"):
        check_jvp(f, lambda p, t: rb.jvp(lambda x, y: (x, y), p, t), args)


def test_refusals():
    with pytest.raises(ValueError, match="modes are 'fwd' and 'rev'"):
        check_grads(lax.sin, (1.0,), 1, modes=("forward",))
    with pytest.raises(ValueError, match="order must be at least 1"):
        check_grads(lax.sin, (1.0,), 0)
