"""Small functions of ``lax`` that are made of others."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.testing import driver
from rabbet.testing.draws import device_array
from rabbet.trace.staging import stage

ROW = device_array(np.array([3.0, 1.0, 2.0], np.float32))
CUBE = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)


def listed(*arrays):
    return [np.asarray(x).tolist() for x in arrays]


def test_empty_and_broadcast_like():
    assert lax.empty((2, 3), "int8").shape == (2, 3)
    assert listed(lax.broadcast_like(ROW, np.zeros((2, 3)))) == [[[3, 1, 2], [3, 1, 2]]]
    with pytest.raises(ValueError, match=r"f32\[3\] does not broadcast to the shape \(3, 1\)"):
        lax.broadcast_like(ROW, np.zeros((3, 1)))


def test_full_like_of_a_number_is_weak():
    assert lax.full_like(2.0, 0).weak_type and not lax.full_like(2.0, 0, dtype="float32").weak_type
    assert not lax.full_like(ROW, 0).weak_type


def test_stage_makes_a_value_of_the_program():
    assert float(lax.stage(2.0)) == 2.0 and lax.stage(2.0).weak_type
    assert [eqn.op.primitive.name for eqn in stage(lambda: [lax.stage(2.0)], []).jaxpr.equations]


# -------------------------------------------------------------------------------------------- composites
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
    from rabbet.lowering.module import lower_program

    held = np.ones(3, np.float32)
    both = lax.composite(lambda x, **_: (lax.add(x, device_array(held)), x), "my.pair")
    attributes = {"a": 2, "b": True, "c": 'say "x"', "d": [1.5], "e": np.int8(3), "f": None, "g": {"h": 1}}
    closed = stage(lambda x: [*both(x, table=np.arange(2), **attributes), composed(x)], [ROW.aval])
    text = lower_program(closed.jaxpr, "cpu").key_text
    assert (
        'stablehlo.composite "my.pair" ' in text and "decomposition = @my_tangent, version = 3 : i32" in text
    )
    for part in (
        "a = 2 : i64",
        "b = true",
        'c = "say \\"x\\""',
        "d = [1.5",
        "e = 3 : i8",
        "g = {h = 1 : i64}",
    ):
        assert part in text
    assert "f = " not in text and "table = dense<[0, 1]> : tensor<2xi64>" in text
    with pytest.raises(TypeError, match=r"an attribute of a composite is a number, .* got complex 2j"):
        stage(lambda x: [composed(x, scale=2j)], [ROW.aval])
