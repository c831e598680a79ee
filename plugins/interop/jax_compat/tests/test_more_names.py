"""Further names of JAX's public modules: values, and what those say that only mean something inside JAX."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet_jax import window_shapes
from rabbet_jax.overlay import api_util, core, sharding
from rabbet_jax.overlay import lax as overlay_lax
from rabbet_jax.overlay.extend import core as extend_core
from rabbet_jax.overlay.extend import linear_util, source_info_util
from rabbet_jax.overlay.extend import random as extend_random
from rabbet_jax.overlay.interpreters import ad, batching
from rabbet_jax.user_contexts import UserContext


def test_a_context_of_ones_own_is_part_of_the_key():
    context, seen = UserContext(0), []

    @rb.jit
    def f(x):
        seen.append(context.value)
        return x * context.value

    results = [float(f(1.0))]
    for value in (1, 2, 1):
        with context(value):
            results.append(float(f(1.0)))
    context.set_global(5)
    assert [*results, float(f(1.0))] == [0, 1, 2, 1, 5] and seen == [0, 1, 2, 5]
    assert context.get_global() == 5
    context.set_global(0)
    with pytest.raises(rb.errors.ConfigError, match="unhashable"):
        context([])


def test_flat_arguments():
    structure = rb.tree_util.tree_structure(((1, (2, 3)), {"k": 1, "a": 2}))
    assert api_util.donation_vector((1,), ("k",), structure) == (False, True, True, False, True)
    assert api_util.rebase_donate_argnums((3, 4), (0, 1)) == (1, 2)
    with pytest.raises(ValueError, match=r"arguments \[1\] cannot be both"):
        api_util.rebase_donate_argnums((1,), (1,))
    pair = rb.tree_util.tree_structure((1, (2, 3)))
    assert api_util.flatten_axes("axes", pair, (None, 1)) == [None, 1, 1]
    with pytest.raises(ValueError, match="axes does not fit"):
        api_util.flatten_axes("axes", pair, (0, (1,)))
    assert core.max_dim(2, 3) == 3 and core.min_dim(2, 3) == 2


def test_shapes_of_windows():
    numbers = ("NHWC", "HWIO", "NHWC")
    assert window_shapes.conv_general_permutations(numbers) == ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    shape = window_shapes.conv_general_shape_tuple((1, 8, 8, 3), (3, 3, 3, 4), (1, 1), "SAME", numbers)
    assert shape == (1, 8, 8, 4)
    shape = window_shapes.conv_shape_tuple((1, 3, 8, 8), (4, 3, 3, 3), (1, 1), [(0, 0), (0, 0)])
    assert shape == (1, 4, 6, 6)
    padding = [(1, 1), (0, 0)]
    assert window_shapes.reduce_window_shape_tuple((8, 8), (2, 2), (2, 2), padding, (2, 2)) == (8, 7)
    shape = window_shapes.conv_transpose_shape_tuple((1, 8, 8, 3), (3, 3, 3, 4), (2, 2), "SAME", numbers)
    assert shape == (1, 16, 16, 4)


def test_small_functions():
    near = 1 - 2**-20
    np.testing.assert_allclose(overlay_lax.one_minus_square(near), 1 - near**2, rtol=1e-6)
    np.testing.assert_allclose(rb.grad(overlay_lax.one_minus_square)(0.3), -0.6, rtol=1e-6)
    assert overlay_lax.shape_as_value((2, 3)).tolist() == [2, 3] and overlay_lax.shape_as_value(()).size == 0
    assert overlay_lax.dce_sink(rnp.ones(2)) is None
    one = sharding.make_single_device_sharding(rb.devices()[0])
    assert one == rb.device_put(1.0, rb.devices()[0]).sharding
    assert sharding.AbstractDevice("cpu", None, "cpu") == sharding.AbstractDevice("cpu", None, "cpu")


def test_random_bits():
    keys = extend_random.random_seed(np.arange(3), impl=extend_random.threefry_prng_impl)
    expected = [rb.random.key_data(rb.random.key(seed)) for seed in range(3)]
    np.testing.assert_array_equal(rb.random.key_data(keys), expected)
    # The vectors of the Threefry paper's reference implementation, 20 rounds.
    ones = np.uint32(0xFFFFFFFF)
    bits = extend_random.threefry_2x32(np.array([ones, ones]), np.array([ones, ones]))
    assert [hex(int(b)) for b in bits] == ["0x1cb996fc", "0xbb002be7"]
    with pytest.raises(TypeError, match="counters of uint32, got int32"):
        extend_random.threefry_2x32(np.array([1, 2], "uint32"), np.arange(2, dtype="int32"))


def test_served(tmp_path):
    pytest.importorskip("rabbet.experimental.sparse", reason="in the package rabbet-sparse")
    file = pathlib.Path(tmp_path / "served.py")
    file.write_text(
        "import jax, jax.interpreters.mlir as mlir, jax.extend.core.primitives as primitives\n"
        "from jax.extend.mlir import ir\n"
        "import jax.extend.mlir.dialects.stablehlo as hlo\n"
        "from jax.experimental.sparse.util import vmap\n"
        "export = mlir.LoweringParameters().for_export\n"
        "print(ir.Context.__module__, hlo.AddOp.__name__, vmap is jax.vmap, export)\n"
        "for name in (mlir.ir_attribute, primitives.custom_jvp_call_p, jax.extend.sharding.GSPMDSharding):\n"
        "    try:\n"
        "        name()\n"
        "    except NotImplementedError as error:\n"
        "        print(str(error).splitlines()[-1].strip())\n"
    )
    ran = subprocess.run([sys.executable, "-m", "rabbet_jax", str(file)], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    first, *rest = ran.stdout.splitlines()
    assert first.startswith("jaxlib.mlir") and first.endswith("AddOp True False")
    assert [line.startswith("to fix: ") for line in rest] == [True] * 3


def test_places_in_programs_and_names_around_them():
    def here():
        return source_info_util.current()

    assert "test_more_names.py:" in source_info_util.summarize(here())
    assert source_info_util.summarize(here()).endswith("here)")
    assert source_info_util.summarize(source_info_util.new_source_info()) == ""
    with source_info_util.extend_name_stack("outer") as stack:
        assert str(stack.extend("inner").transform("vmap")) == "outer/inner/vmap()"
        assert source_info_util.current_name_stack() == stack
        text = rb.jit(lambda x: x * 2).lower(1.0).as_text(debug_info=True)
        with source_info_util.reset_name_stack():
            assert str(source_info_util.current_name_stack()) == ""
    assert "outer" in text and str(source_info_util.current_name_stack()) == ""


def test_what_functions_tell_beside_their_results():
    @linear_util.transformation_with_aux
    def doubled(x):
        out = yield (x + 1,), {}
        yield out * 2, "told"

    def tripled(f, store, x):
        store.store("stored")
        return f(x) * 3

    fun = linear_util.wrap_init(lambda x: x * 10)
    first, told = doubled(fun)
    second, stored = linear_util.transformation_with_aux2(tripled)(fun)
    with pytest.raises(linear_util.StoreException, match="has not been called"):
        told()
    with pytest.raises(linear_util.StoreException, match="0 of the two"):
        linear_util.merge_linear_aux(told, stored)
    assert (second.call_wrapped(1), linear_util.merge_linear_aux(told, stored)) == (30, (False, "stored"))
    assert (first.call_wrapped(1), told()) == (40, "told")


def test_results_are_kept_by_the_function_within_and_the_arguments():
    seen, within = [], lambda x: x + 1

    @linear_util.cache
    def called(fun, x):
        seen.append(x)
        return fun.call_wrapped(x)

    assert [called(linear_util.wrap_init(within), x) for x in (1, 1, 2)] == [2, 2, 3]
    assert seen == [1, 2]
    called.cache_clear()
    assert (called(linear_util.wrap_init(within), 1), seen) == (2, [1, 2, 1])


def test_rules_for_primitives_that_are_linear_in_one_operand_or_in_each():
    double = extend_core.Primitive("double")
    double.def_impl(lambda x: x * 2)
    double.def_abstract_eval(lambda a: a)
    ad.deflinear2(double, lambda ct, x: [ct * 2 if ad.is_undefined_primal(x) else None])
    assert float(rb.grad(lambda x: double.bind(x))(1.0)) == 2

    product = extend_core.Primitive("product_of_two")
    product.def_impl(lambda x, y: x * y)
    product.def_abstract_eval(lambda a, b: a)
    ad.defbilinear(product, lambda ct, x, y: ct * y, lambda ct, x, y: ct * x)
    batching.defbroadcasting(product)
    assert [float(g) for g in rb.grad(lambda x, y: product.bind(x, y), (0, 1))(2.0, 3.0)] == [3, 2]
    out = rb.vmap(lambda x, y: product.bind(x, y), (0, None))(rnp.arange(3.0), rnp.array(2.0))
    assert out.tolist() == [0, 2, 4]

    total = extend_core.Primitive("total")
    total.def_impl(lambda x, axes: rnp.sum(x, axes))
    total.def_abstract_eval(lambda a, axes: a.update(shape=a.shape[1:]))
    batching.defreducer(total)
    assert rb.vmap(lambda x: total.bind(x, axes=(0,)), 1)(rnp.arange(6.0).reshape(2, 3)).tolist() == [3, 5, 7]
    assert batching.bdim_at_front(rnp.ones((2, 3)), 1, 3).shape == (3, 2)
    assert batching.broadcast(rnp.ones(2), 3, 1).shape == (2, 3)
    assert ad.add_tangents(1.0, ad.zeros_like_aval(rb.typeof(1.0))) == 1.0


def test_mapping_over_leading_dimensions_of_size_1():
    sparse = pytest.importorskip("rabbet_jax.overlay.experimental.sparse.inner_classes")
    assert sparse.nfold_vmap(rnp.dot, 2)(rnp.ones((1, 3, 2)), rnp.ones((4, 3, 2))).shape == (4, 3)
    assert sparse.inner("SparseInfo")((2, 3)) == ((2, 3), False, False)
    with pytest.raises(ValueError, match=r"sizes \[3, 4\]"):
        sparse.broadcasting_vmap(rnp.add)(rnp.ones(3), rnp.ones(4))


def test_a_series_of_zeros_need_not_be_written_out():
    pytest.importorskip("rabbet.experimental.jet")
    from rabbet_jax.overlay.experimental import jet

    times = lambda x, y: x * y
    short = jet.jet(times, (2.0, 3.0), ([1.0, 5.0], jet.zero_series))
    long = jet.jet(times, (2.0, 3.0), ([1.0, 5.0], [0.0, 0.0]))
    assert [float(short[0]), *map(float, short[1])] == [float(long[0]), *map(float, long[1])] == [6, 3, 15]
