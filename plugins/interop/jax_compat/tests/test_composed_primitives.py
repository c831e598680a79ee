"""Primitives of JAX's that are several operations here: bound, compiled, mapped and differentiated."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet_jax.composed_primitives import BETWEEN_HOSTS, CALLED, COMPOSED, composed
from rabbet_jax.overlay.extend import linear_util
from rabbet_jax.primitives_by_name import primitive_named

pytestmark = pytest.mark.needs("jit", "grad", "vmap", "random", "custom_rules")


def test_total_order_tells_zeros_and_nans_apart():
    x = np.array([-np.nan, -np.inf, -0.0, 0.0, 1.0, np.nan], "float32")
    less, most = composed("lt_to"), composed("le_to")
    assert np.array_equal(less.bind(x[:-1], x[1:]), [True] * 5)
    assert np.array_equal(composed("eq_to").bind(x, x), [True] * 6)
    assert np.array_equal(most.bind(x[1:], x[:-1]), [False] * 5)


def test_a_composed_primitive_is_compiled_mapped_and_differentiated():
    split = composed("split")
    x = np.arange(6.0, dtype="float32")
    first = lambda x: split.bind(x, sizes=(2, 4), axis=0)[1]
    assert np.array_equal(rb.jit(first)(x), x[2:])
    assert np.array_equal(rb.vmap(first)(np.stack([x, x])), np.stack([x[2:], x[2:]]))
    assert np.array_equal(rb.grad(lambda x: first(x).sum())(x), [0, 0, 1, 1, 1, 1])


def test_a_polynomial_has_its_constant_first():
    assert composed("polynomial").bind(rnp.float32(2), *map(rnp.float32, (1, 10, 100))) == 421


def test_a_primitive_has_one_object_under_all_its_names():
    assert primitive_named("add_jaxvals_p") is primitive_named("add_any_p") is composed("add_any")
    assert primitive_named("call_p") is primitive_named("closed_call_p")
    assert primitive_named("split_p") is composed("split")


def test_a_program_is_run_by_a_primitive_of_ones_own():
    program = rb.make_jaxpr(lambda x: (x * 2, x))(1.0)
    (twice, same) = primitive_named("call_p").bind(3.0, call_jaxpr=program)
    assert (float(twice), float(same)) == (6.0, 3.0)


def test_keys_are_made_and_drawn_from_as_by_the_functions():
    key = rb.random.key(3)
    bits = composed("random_bits").bind(key, bit_width=32, shape=(3,))
    assert np.array_equal(bits, rb.random.bits(key, (3,), "uint32"))
    keys = composed("random_split").bind(key, shape=(2,))
    both = composed("random_bits").bind(keys, bit_width=32, shape=(3,))
    assert np.array_equal(both[1], rb.random.bits(keys[1], (3,), "uint32"))
    folded = composed("random_fold_in").bind(key, rnp.arange(2, dtype="uint32"))
    assert folded[1] == rb.random.fold_in(key, 1)


def test_complex_numbers_have_no_total_order():
    x = np.array([0, complex(0, np.nan)], "complex64")
    assert np.array_equal(composed("eq_to").bind(x, -x), [True, False])


@pytest.mark.needs("ffi")
def test_tokens_are_made_and_merged_within_a_program():
    made = lambda: primitive_named("after_all_p").bind(primitive_named("create_token_p").bind())
    assert type(rb.jit(made)()) is type(rb.lax.create_token())


@pytest.mark.needs("shard_map", "lax.ragged_all_to_all")
def test_rows_are_exchanged_over_the_axes_around():
    mesh = rb.make_mesh((1,), ("x",))
    along, one = rb.sharding.PartitionSpec("x"), np.ones(1, "int32")
    exchange = lambda x, out: primitive_named("ragged_all_to_all_p").bind(
        x, out, 0 * one, one, one, one, axis_name="x", axis_index_groups=None
    )
    mapped = rb.shard_map(exchange, mesh=mesh, in_specs=(along, along), out_specs=along)
    x, out = np.array([5.0, 6.0], "float32"), np.zeros(2, "float32")
    assert np.array_equal(rb.jit(mapped)(x, out), [0, 5])


@pytest.mark.needs("experimental.multihost_utils", "sharding")
@pytest.mark.parametrize("name", sorted(BETWEEN_HOSTS))
def test_an_array_of_one_host_is_the_whole_one(name):
    mesh, spec = rb.make_mesh((1,), ("x",)), rb.sharding.PartitionSpec("x")
    x = rb.device_put(np.arange(4.0), rb.sharding.NamedSharding(mesh, spec))
    assert np.array_equal(primitive_named(f"{name}_p").bind(x, global_mesh=mesh, pspec=spec), x)


def test_every_name_makes_a_primitive():
    assert all(composed(name).name.endswith(name) for name in (*COMPOSED, *CALLED))


def test_a_cache_knows_a_transformed_function_again_and_lets_the_function_go():
    import gc
    import weakref

    called = []

    @linear_util.cache
    def result(fun, *args):
        called.append(args)
        return fun.call_wrapped(*args)

    @linear_util.transformation_with_aux2
    def doubled(f, store, *args):
        store.store(args)
        return 2 * f(*args)

    def function(x):
        return x + 1

    for _ in range(3):
        fun, told = doubled(linear_util.wrap_init(function))
        assert result(fun, 3) == 8 and told() == (3,)
    assert called == [(3,)]
    gone = weakref.ref(function)
    del function, fun
    gc.collect()
    assert gone() is None
