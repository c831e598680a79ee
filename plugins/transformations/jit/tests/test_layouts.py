"""Layouts: what compiled programs say of them, and what is asked for."""

import copy
import itertools
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
    by_columns = rb.device_put(np.ones((2, 2)), Format(Layout((1, 0)), here))
    assert by_columns.format == Format(Layout((1, 0)), here)
    assert by_columns.sharding == here and by_columns.device == rb.devices()[0]
    for order, words in (((1, 1), "name each dimension once"), ((0, 2, 1), "orders 3 dimensions")):
        with pytest.raises(ShardingError, match=words):
            rb.device_put(np.ones((2, 2)), Format(Layout(order), here))
    with pytest.raises(ShardingError, match="a layout and no sharding"):
        rb.device_put(np.ones((2, 2)), Format(Layout((1, 0))))
    with pytest.raises(ShardingError, match="tiles and packed elements"):
        rb.device_put(np.ones((2, 2)), Format(Layout((1, 0), ((8,),)), here))
    with pytest.raises(TypeError, match="takes a Layout, Layout"):
        Format((0, 1))


def test_constraints():
    x = rb.device_put(np.ones((2, 3), np.float32))
    assert with_layout_constraint({"x": x}, Layout((0, 1)))["x"] is x
    with pytest.raises(ValueError, match="for 1 dimensions, and the array has 2"):
        with_layout_constraint(x, Layout((0,)))
    turned = with_layout_constraint(x, Layout((1, 0)))
    assert turned.format.layout == Layout((1, 0))
    assert rb.jit(lambda x: with_layout_constraint(x, Layout((1, 0))) + 1)(turned).tolist() == [[2] * 3] * 2


def constrained(order):
    return lambda x: with_layout_constraint(x * 2, Layout(order))


@pytest.mark.optimized
@pytest.mark.parametrize("order", [(2, 0, 1), (0, 2, 1)])
def test_the_compiler_lays_values_out_as_told(order):
    """And values and results stay; the program that is compiled holds an array in this order."""
    f = rb.jit(lambda x: lax.sin(constrained(order)(x)))
    compiled = f.lower(HOST).compile()
    steps = ",".join(map(str, order[::-1]))
    assert f"f32[2,3,4]{{{steps}}}" in compiled.as_text()
    assert f"f32[2,3,4]{{{steps}}}" not in rb.jit(lambda x: lax.sin(x * 2)).lower(HOST).compile().as_text()
    np.testing.assert_allclose(f(HOST), np.sin(HOST * 2), rtol=1e-6)
    assert compiled.output_formats.layout == Layout((0, 1, 2))


def test_constraints_that_a_traced_value_cannot_keep_are_refused():
    def traced(layout, x=HOST):
        return rb.jit(lambda x: with_layout_constraint(x, layout)).lower(x)

    with pytest.raises(ValueError, match="for 2 dimensions, and the array has 3"):
        traced(Layout((1, 0)))
    with pytest.raises(ValueError, match="does not name each of the 3 dimensions"):
        traced(Layout((1, 1, 0)))
    with pytest.raises(ShardingError, match="tiles and packed elements"):
        traced(Layout((2, 1, 0), ((8,),)))
    assert "LayoutConstraint" not in traced(Layout((0,)), HOST[0, 0]).as_text()
    random = pytest.importorskip("rabbet.random", reason="the package rabbet-random is not installed")
    with pytest.raises(TypeError, match=r"the order of key<fry>.* cannot be chosen"):
        traced(Layout((1, 0)), random.split(random.key(0), (2, 2)))


def test_constraints_within_transformations():
    autodiff, vmapping = pytest.importorskip("rabbet_autodiff"), pytest.importorskip("rabbet_vmap")
    f = constrained((2, 0, 1))
    slope = rb.jit(autodiff.grad(lambda x: lax.reduce_sum(f(x) * x, axes=(0, 1, 2))))
    np.testing.assert_allclose(slope(HOST), 4 * HOST, rtol=1e-6)
    assert slope.lower(HOST).as_text().count("@LayoutConstraint") == 2
    _, tangent = rb.jit(lambda x: autodiff.jvp(f, (x,), (x,)))(HOST)
    np.testing.assert_allclose(tangent, 2 * HOST)
    stacked = np.stack([HOST, HOST + 1], 2)
    mapped = rb.jit(vmapping.vmap(f, in_axes=2, out_axes=2))
    np.testing.assert_allclose(mapped(stacked), 2 * stacked)
    assert "operand_layouts = [dense<[1, 0, 3, 2]>" in mapped.lower(stacked).as_text()


def test_methods_of_layouts():
    x = turned(HOST, (2, 0, 1))
    assert Layout.for_array(x) == Layout((2, 0, 1)) and Layout.for_array(HOST) == Layout((0, 1, 2))
    assert Layout((1, 0)).update(major_to_minor=(0, 1)) == Layout((0, 1))
    with pytest.raises(ValueError, match="'order' is no field of a layout"):
        Layout((1, 0)).update(order=(0, 1))
    assert Layout((1, 0)).check_compatible_aval((2, 3)) is None
    with pytest.raises(ValueError, match="for 2 dimensions, and the array has 3"):
        Layout((1, 0)).check_compatible_aval((2, 3, 4))
    with pytest.raises(ValueError, match="does not name each"):
        Layout((0, 2)).check_compatible_aval((2, 3))
    raw = rb.jit(lambda x: x).lower(x).compile().runtime_executable().get_parameter_layouts()
    assert Layout.from_pjrt_layout(raw[0]) == Layout((2, 0, 1))


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


@pytest.mark.needs("shard_map")
def test_auto_places_nothing():
    here = rb.device_put(1.0).sharding
    for asked in (Format(Layout.AUTO), Format(Layout.AUTO, here)):
        placed = (
            lambda asked=asked: rb.device_put(np.ones((2, 2)), asked),
            lambda asked=asked: lax.with_sharding_constraint(np.ones((2, 2)), asked),
            lambda asked=asked: rb.jit(lambda x: x).lower(
                rb.ShapeDtypeStruct((2, 2), "float32", sharding=asked)
            ),
        )
        for place in placed:
            with pytest.raises(ValueError, match="leaves the layout open"):
                place()
        assert rb.jit(lambda x: x + 1, in_shardings=asked, out_shardings=asked)(1.0) == 2
    with pytest.raises(TypeError, match="Format: sharding must be a Device"):
        Format(Layout((0, 1)), "x")


def test_a_format_of_a_shape_is_not_passed_over():
    here = rb.device_put(1.0).sharding
    rows, columns = [
        rb.ShapeDtypeStruct((2, 3), "float32", sharding=Format(Layout(order), here))
        for order in ((0, 1), (1, 0))
    ]
    assert rb.jit(lambda x: x).lower(rows).compile().input_formats[0][0].layout == Layout((0, 1))
    assert rb.jit(lambda x: x).lower(columns).compile().input_formats[0][0].layout == Layout((1, 0))


HOST = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
ORDERS = list(itertools.permutations(range(3)))
PROGRAMS = {
    "elementwise": lambda x: lax.sin(x) * 2,
    "a transposition": lambda x: lax.transpose(x, (2, 0, 1)),
    "a product": lambda x: lax.dot_general(x, x, (((2,), (2,)), ((0,), (0,)))),
    "a sum": lambda x: lax.reduce_sum(x, axes=(1,)),
    "an index": lambda x: x[1, :, 2],
    "an update": lambda x: x.at[0].set(7.0),
    "a shape": lambda x: lax.reshape(x, (6, 4)),
    "nothing": lambda x: x,
    "a loop": lambda x: lax.fori_loop(0, 3, lambda i, c: c + x, x),
    "two": lambda x: lax.add(x, lax.full((2, 3, 4), 1.0)),
    "bits": lambda x: lax.bitcast_convert_type(x, "int32"),
}


def turned(x, order):
    """An array that lies in this order."""
    x = rb.device_put(x)
    return rb.device_put(x, Format(Layout(order), x.sharding))


@pytest.mark.narrow
@pytest.mark.parametrize("order", ORDERS)
def test_programs_give_the_same_in_any_order(order):
    """A program that read an array in another order than it lies would find other numbers."""
    for f in PROGRAMS.values():
        wanted, x = np.asarray(f(rb.device_put(HOST))), turned(HOST, order)
        compiled = rb.jit(f).lower(x).compile()
        elsewhere = rb.jit(f).lower(rb.device_put(HOST)).compile()
        back = rb.jit(f, in_shardings=Format(Layout(order), x.sharding))
        for run in (f, rb.jit(f), compiled, elsewhere, back):
            for argument in (x, x, rb.device_put(HOST), HOST) if run is not back else (x, x, HOST):
                np.testing.assert_array_equal(run(rb.device_put(argument)), wanted)
        assert f(x).format.layout == Layout(tuple(range(wanted.ndim))) or f(x) is x
    np.testing.assert_array_equal(rb.jit(lambda: x + 1)(), HOST + 1)  # captured


@pytest.mark.forbidden("disable_jit")
@pytest.mark.parametrize("order", ORDERS)
def test_results_lie_as_asked(order):
    asked = Format(Layout(order), rb.device_put(1.0).sharding)
    f = rb.jit(lambda x: x * 2, out_shardings=asked)
    for x in (HOST, turned(HOST, (2, 1, 0)), turned(HOST, order)):
        y = f(x)
        assert y.format == asked
        np.testing.assert_array_equal(y, HOST * 2)
        np.testing.assert_array_equal(y + 1, HOST * 2 + 1)
    assert f.lower(HOST).compile().output_formats == asked


@pytest.mark.forbidden("explicit_x64_dtypes")
def test_each_dtype_is_read_and_copied():
    for name in ("bool", "int8", "uint16", "float16", "float64", "complex64", "complex128"):
        host = np.arange(6).reshape(2, 3).astype(name)
        given = turned(lax.convert_element_type(host, name), (1, 0))
        for x in (given, copy.deepcopy(given)):
            assert x.format.layout == Layout((1, 0)) and x.dtype == host.dtype
            np.testing.assert_array_equal(x, host)
            np.testing.assert_array_equal(lax.neg(lax.neg(x)) if name != "bool" else x, host)
            assert x.tolist() == host.tolist() and np.from_dlpack(x).tolist() == host.tolist()
    x = turned(HOST[0], (1, 0))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(x)), HOST[0])
    np.testing.assert_array_equal(x.addressable_shards[0].data * 2, HOST[0] * 2)
    (found,) = [y for y in rb.live_arrays() if y.raw is x.raw]
    np.testing.assert_array_equal(found * 2, HOST[0] * 2)


@pytest.mark.forbidden("disable_jit")
def test_donated_arrays_keep_their_order():
    asked = turned(HOST, (2, 0, 1)).format
    f = rb.jit(lambda x: x + 1, donate_argnums=0, out_shardings=asked)
    assert f.lower(turned(HOST, (2, 0, 1))).compile().memory_analysis().alias_size_in_bytes == HOST.nbytes
    for _ in range(2):
        x = turned(HOST, (2, 0, 1))
        np.testing.assert_array_equal(f(x), HOST + 1)
        assert x.is_deleted()
        x = turned(HOST, (2, 0, 1))
        part = x.addressable_shards[0].data  # shares the memory, so a copy is given up
        np.testing.assert_array_equal(f(x), HOST + 1)
        np.testing.assert_array_equal(part, HOST)


def test_transformations():
    autodiff, vmapping = pytest.importorskip("rabbet_autodiff"), pytest.importorskip("rabbet_vmap")
    x = turned(HOST, (2, 1, 0))
    f = rb.jit(lambda x: lax.sin(x) * x, out_shardings=x.format)
    g = autodiff.grad(lambda x: lax.reduce_sum(f(x), axes=(0, 1, 2)))
    np.testing.assert_allclose(g(x), np.cos(HOST) * HOST + np.sin(HOST), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(vmapping.vmap(lambda r: lax.sin(r) * r)(x), np.sin(HOST) * HOST, rtol=1e-6)
    stacked = np.stack([HOST, HOST + 1])
    np.testing.assert_allclose(vmapping.vmap(f)(stacked), np.sin(stacked) * stacked, rtol=1e-6)


@pytest.mark.forbidden("disable_jit")
def test_another_order_on_purpose_is_refused():
    """As another place is, by ``jit``; a compiled function brings it to its order."""
    f = rb.jit(lambda x: x, in_shardings=turned(HOST, (2, 1, 0)).format)
    with pytest.raises(ShardingError, match=r"in the order \(2, 1, 0\) for argument 'x', which was put on"):
        f(turned(HOST, (0, 2, 1)))
    plain = rb.jit(lambda x: x, in_shardings=rb.device_put(1.0).sharding)
    np.testing.assert_array_equal(plain(turned(HOST, (0, 2, 1))), HOST)


@pytest.mark.forbidden("disable_jit")
def test_the_order_is_part_of_what_finds_a_program():
    f = rb.jit(lambda x: x + 1)
    texts = {f.lower(turned(HOST, order)).as_text() for order in ORDERS}
    assert len(texts) == len(ORDERS)
    for order in ORDERS:
        f(turned(HOST, order))
    assert f.cache_size() == len(ORDERS)


@pytest.mark.forbidden("disable_jit")
def test_one_device_may_be_named_beside_an_order():
    here, x = rb.device_put(1.0).sharding, turned(HOST, (2, 0, 1))
    f = rb.jit(lambda x: (x + 1, x * 2), in_shardings=here, out_shardings=(here, x.format))
    for given in (HOST, x):
        one, two = f(given)
        assert one.format.layout == Layout((0, 1, 2)) and two.format == x.format
        assert one.sharding == two.sharding == here
        np.testing.assert_array_equal(one, HOST + 1)
        np.testing.assert_array_equal(two, HOST * 2)


def test_a_layout_is_of_integers():
    for make, said in (
        (lambda: Layout(5), "major_to_minor must be a sequence, such as"),
        (lambda: Layout("ab"), "major_to_minor must be a sequence"),
        (lambda: Layout((1.5, 0)), "an element of major_to_minor must be an integer, got float 1.5"),
        (lambda: Layout((0, 1), (7, 9)), "a tile must be a sequence"),
        (lambda: Layout((0, 1)).update(major_to_minor=None), "major_to_minor must be a sequence"),
    ):
        with pytest.raises(TypeError, match=f"Layout: {said}"):
            make()
    assert Layout([1, 0], [[8, 2]]) == Layout((1, 0), ((8, 2),))
    assert Layout((1, 0)).update(major_to_minor=(0, 1)) == Layout((0, 1))
