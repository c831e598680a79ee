"""Layouts: what compiled programs say of them, and what is asked for."""

import pickle

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import ShardingError
from rabbet.experimental.layout import Format, Layout, with_layout_constraint


def test_compiled_functions_tell_how_arguments_and_results_lie():
    x, unused = np.ones((2, 3), np.float32), np.ones(4, np.float32)
    compiled = rb.jit(lambda unused, x: {"t": lax.transpose(x, (1, 0))}).lower(unused, x).compile()
    (first, second), keywords = compiled.input_formats
    here = compiled.output_shardings["t"]
    assert keywords == {} and first == Format(Layout((0,)), here) and second == Format(Layout((0, 1)), here)
    assert compiled.output_formats == {"t": Format(Layout((0, 1)), here)}


def test_a_format_may_stand_for_a_sharding():
    here = rb.device_put(1.0).sharding
    assert rb.device_put(np.ones((2, 2)), Format(Layout((0, 1)), here)).sharding == here
    with pytest.raises(ShardingError, match="lie by rows in this version"):
        rb.device_put(np.ones((2, 2)), Format(Layout((1, 0)), here))
    with pytest.raises(TypeError, match="takes a Layout, Layout"):
        Format((0, 1))


def test_constraints():
    x = rb.device_put(np.ones((2, 3), np.float32))
    assert with_layout_constraint({"x": x}, Layout((0, 1)))["x"] is x
    with pytest.raises(ValueError, match="for 1 dimensions, and the array has 2"):
        with_layout_constraint(x, Layout((0,)))
    with pytest.raises(ShardingError, match="leave the layout out"):
        rb.jit(lambda x: with_layout_constraint(x, Layout((1, 0))))(x)


def test_auto_leaves_the_layout_open():
    """As JAX documents it: compile with AUTO, ask which layouts it is, bring the arguments into these."""
    asked = Format(Layout.AUTO)
    f = rb.jit(lax.dot, in_shardings=asked, out_shardings=asked)
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    compiled = f.lower(x, x).compile()
    arguments = rb.device_put((x, x), compiled.input_formats[0])
    out = compiled(*arguments)
    np.testing.assert_array_equal(out, x @ x)
    np.testing.assert_array_equal(f(x, x), x @ x)
    assert compiled.output_formats.layout == Layout((0, 1))
    assert pickle.loads(pickle.dumps(asked.layout)) is Layout.AUTO
    with pytest.raises(ValueError, match=r"Layout\.AUTO constrains nothing"):
        with_layout_constraint(out, Layout.AUTO)


def test_a_format_of_a_shape_is_not_passed_over():
    here = rb.device_put(1.0).sharding
    rows, columns = [
        rb.ShapeDtypeStruct((2, 3), "float32", sharding=Format(Layout(order), here))
        for order in ((0, 1), (1, 0))
    ]
    assert rb.jit(lambda x: x).lower(rows).compile().input_formats[0][0].layout == Layout((0, 1))
    with pytest.raises(ShardingError, match="ShapeDtypeStruct: sharding: arrays lie by rows"):
        rb.jit(lambda x: x).lower(columns)
