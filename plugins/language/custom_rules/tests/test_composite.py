"""``lax.composite``: a function under a name that a backend may know better."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.extend.backend import lower_program
from rabbet.extend.passes import consts_as_inputs, stage
from rabbet.testing import driver
from rabbet.testing.draws import device_array

ROW = device_array(np.array([3.0, 1.0, 2.0], np.float32))


def tangent(x, *, scale=1.0):
    return lax.mul(lax.div(lax.sin(x), lax.cos(x)), scale)


composed = lax.composite(tangent, "my.tangent", version=3)


def test_a_composite_computes_its_decomposition():
    wanted = 2.0 * np.tan([3.0, 1.0, 2.0])
    np.testing.assert_allclose(np.asarray(composed(ROW, scale=2.0)), wanted, rtol=1e-5)
    jitted = driver.jit(lambda x: (composed(x, scale=2.0),))
    np.testing.assert_allclose(np.asarray(jitted(ROW)[0]), wanted, rtol=1e-5)


def test_transformations_go_through_the_decomposition():
    ones = device_array(np.ones(3, np.float32))
    push = driver.jit(lambda x, t: driver.jvp(lambda y: (composed(y),), (x,), (t,))[1])
    np.testing.assert_allclose(np.asarray(push(ROW, ones)[0]), np.cos([3.0, 1.0, 2.0]) ** -2, rtol=1e-5)


def test_a_composite_keeps_its_name_attributes_and_version():
    held = np.ones(3, np.float32)
    both = lax.composite(lambda x, **_: (lax.add(x, device_array(held)), x), "my.pair")
    attributes = {"a": 2, "b": True, "c": 'say "x"', "d": [1.5], "e": np.int8(3), "f": None, "g": {"h": 1}}
    closed = stage(lambda x: [*both(x, table=np.arange(2), **attributes), composed(x)], [ROW.aval])
    text = lower_program(consts_as_inputs(closed), "cpu").module.key_text
    assert (
        'stablehlo.composite "my.pair" ' in text and "decomposition = @my_tangent, version = 3 : i32" in text
    )
    for part in (
        "a = 2 : i64",
        "b = true",
        'c = "say \\22x\\22"',
        "d = [1.5",
        "e = 3 : i8",
        "g = {h = 1 : i64}",
    ):
        assert part in text
    assert "f = " not in text and "table = dense<[0, 1]> : tensor<2xi64>" in text
    with pytest.raises(TypeError, match=r"an attribute of a composite is a number, .* got complex 2j"):
        stage(lambda x: [composed(x, scale=2j)], [ROW.aval])
