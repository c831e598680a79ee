"""The runtime's traps on several devices: calls that end the process, wait forever or give wrong numbers.

Each has a guard in Rabbet and a test; the page "Many devices" lists them (docs/parallel.md). Those of one
process are here, in the order of that list, but where a test says where else; those of several processes are
in plugins/scale/distributed/tests, those of files in plugins/scale/store/tests.
"""

import copy
import gc

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import DeletedArrayError, ShardingError
from rabbet.extend.sharding import device_group
from rabbet.sharding import Mesh, NamedSharding
from rabbet.sharding import PartitionSpec as P

jit = pytest.importorskip("rabbet_jit").jit
MESH = rb.make_mesh((4, 2), ("x", "y"))
HOST = np.arange(128, dtype=np.float32).reshape(16, 8)


def on(*spec, mesh=MESH):
    return NamedSharding(mesh, P(*spec))


def mapped(f, **options):
    return jit(rb.shard_map(f, mesh=MESH, in_specs=P("x"), out_specs=P("x"), **options))


def same(x, y):
    return np.array_equal(np.asarray(x), np.asarray(y))


def test_many_programs_under_way():
    """jaxlib 0.10 ends the process where 1,500 that communicate wait for threads. 16 are under way at most:
    core/tests/runtime/test_in_flight.py.
    """
    x, total = rb.device_put(HOST, on("x")), jit(lambda x: x - x.sum() * 1e-6)
    outs = [total(x) for _ in range(60)]
    assert all(same(out, outs[0]) for out in outs[::20])


def test_sums_among_many_programs_that_do_not_communicate():
    """The same under stress, nobody waiting: without a bound jaxlib 0.10 ended the process in 6 of 6 runs of
    the first loop; with a bound on the programs that communicate alone in 1 of 2 of the second.
    """
    everywhere = NamedSharding(rb.make_mesh((8,), ("x",)), P("x"))
    x = rb.device_put(np.ones((8, 64, 64), np.float32), everywhere)
    over = lambda f: jit(rb.shard_map(f, mesh=everywhere.mesh, in_specs=P("x"), out_specs=P("x")))
    local, total = over(lambda v: v @ v / 64), over(lambda v: lax.psum(v, "x") / 8 + v * 0)
    y, outs = x, []
    for i in range(200):
        y, z = local(y), total(x)
        outs += [local(z)] * (i % 3 == 0)
        y = total(y) if i % 5 == 0 else y
    for _ in range(30):
        y = total(y)
        for _ in range(20):
            y = local(y)
        outs.append(y)
    assert all(same(out, np.ones(x.shape)) for out in outs[::20])


@pytest.mark.parametrize(
    "place",
    [
        lambda x: rb.device_put(x, on("x")),
        lambda x: rb.reshard(x, on("x")),
        lambda x: lax.with_sharding_constraint(x, on("x")),
        lambda x: jit(lambda x: x, in_shardings=on("x"))(x),
        lambda x: jit(lambda x: x, out_shardings=on("x"))(x),
        lambda x: jit(lambda x: x).lower(rb.ShapeDtypeStruct(x.shape, x.dtype, sharding=on("x"))),
        lambda x: rb.make_array_from_callback(x.shape, on("x"), lambda index: x[:2]),
        lambda x: rb.shard_map(lambda x: x, mesh=MESH, in_specs=P("x"), out_specs=P("x"))(x),
    ],
)
def test_a_size_that_the_devices_do_not_divide(place):
    """The partitioner leaves such a cut out and says nothing."""
    with pytest.raises(ShardingError, match="into 4 parts, but its size 7 is not divisible by 4"):
        place(HOST[:7])


def test_a_constraint_within_a_program_that_the_devices_do_not_divide_is_told():
    with pytest.warns(UserWarning, match="the axes that do not divide are left out"):
        out = jit(lambda x: lax.with_sharding_constraint(x, on("x")))(HOST[:7])
    assert same(out, HOST[:7])


def test_shardings_are_written_for_the_partitioner_that_runs():
    """Those of the older one (mhlo.sharding) are left out silently, or end the process."""
    f = jit(lambda x: lax.with_sharding_constraint(x, on("y")) + 1, out_shardings=on("x"))
    text = f.lower(rb.device_put(HOST, on("x", "y"))).as_text()
    assert "mhlo.sharding" not in text
    assert text.count("sdy.sharding =") == 2 and "sdy.sharding_constraint" in text


def test_an_argument_that_lies_otherwise():
    """Parts of the same size in other places gave wrong numbers; devices in another order ended the process.
    A compiled function refuses both, and a jitted one has a program for each.
    """
    f = jit(lambda x: 2 * x + lax.cumsum(x, 0))
    compiled = f.lower(rb.device_put(HOST, on("x"))).compile()
    wanted = 2 * HOST + np.cumsum(HOST, 0)
    turned = Mesh(np.array(rb.devices(), object).reshape(2, 4).T, ("x", "y"))
    backwards = rb.make_mesh((4, 2), ("x", "y"), devices=rb.devices()[::-1])
    for other in (on("y"), on("x", mesh=turned), on("x", mesh=backwards), rb.devices()[1]):
        x = rb.device_put(HOST, other)
        assert same(f(x), wanted)
        with pytest.raises(ShardingError, match="the program was compiled for NamedSharding"):
            compiled(x)
    assert same(compiled(HOST), wanted)


def test_devices_stand_in_one_order_everywhere():
    """Another order in the list of devices than in their assignment ends the process. Both are made of one
    group; as many as there are places is tested in core/tests/runtime/test_compile_options.py.
    """
    order = [rb.devices()[i] for i in (5, 2, 7, 0)]
    x = rb.device_put(HOST, on("x", mesh=rb.make_mesh((4,), ("x",), devices=order)))
    out = jit(lambda x: x + x.sum(0))(x)
    assert same(out, HOST + HOST.sum(0))
    assert [s.device for s in sorted(out.addressable_shards, key=lambda s: s.index[0].start)] == order
    assert device_group(tuple(order)) is device_group(tuple(order))
    with pytest.raises(ValueError, match="occurs twice"):
        device_group((order[0], order[0]))


def test_collectives_that_only_some_devices_would_come_to():
    """The others wait, and the process ends after 40 seconds."""
    here = lambda: lax.axis_index("x") < 1
    varying = lambda v: lax.pcast(v, "x", to="varying")
    branch = lambda v: lax.cond(here(), lambda u: varying(lax.psum(u, "x")), lambda u: u * 2, v)
    loop = lambda v: lax.while_loop(
        lambda c: c[0] < lax.axis_index("x"),
        lambda c: (c[0] + 1, varying(lax.psum(c[1], "x"))),
        (varying(0), v),
    )[1]
    deep = lambda v: lax.fori_loop(0, 2, lambda _, u: branch(u), v)
    for f, words in ((branch, "stands in a cond"), (loop, "in a while_loop"), (deep, "stands in a cond")):
        with pytest.raises(ShardingError, match=f"psum along 'x' {words}|psum along 'x' stands {words}"):
            mapped(f)(HOST)


def test_collectives_that_all_or_none_of_a_group_come_to():
    agreed = lambda v: lax.cond(
        lax.pmax(v[0, 0], "x") > 1, lambda u: lax.psum(u, "x") + 0 * u, lambda u: u, v
    )
    np.testing.assert_allclose(mapped(agreed)(HOST), np.tile(HOST.reshape(4, 4, 8).sum(0), (4, 1)))
    other = lambda v: lax.cond(
        lax.axis_index("x") < 1, lambda u: lax.psum(lax.pcast(u, "y", to="varying"), "y"), lambda u: u, v
    )
    wanted = HOST.copy()
    wanted[:4] *= 2
    np.testing.assert_allclose(mapped(other)(HOST), wanted)


def test_a_python_function_fails_on_one_device():
    """Where it stands before a collective the others would wait: the error is kept, and raised at the end."""
    callbacks = pytest.importorskip("rabbet_callbacks")

    def one(x, i):
        if i == 2:
            raise ValueError("on the third")
        return np.asarray(x)

    def f(v):
        shape = rb.ShapeDtypeStruct(v.shape, v.dtype)
        return lax.psum(callbacks.pure_callback(one, shape, v, lax.axis_index("x")), "x") + v

    for _ in range(2):
        with pytest.raises(ValueError, match="on the third"):
            np.asarray(mapped(f, check_vma=False)(HOST))


def test_results_that_differ_where_their_spec_says_they_do_not():
    """One device's would be taken; more in test_shard_map_function.py."""
    with pytest.raises(ShardingError, match="may differ between devices along 'x'"):
        rb.shard_map(lambda x: x * 2, mesh=MESH, in_specs=P("x"), out_specs=P())(HOST)


def test_donated_to_another_device():
    """jaxlib's own way ends the process where the donated array is asked whether it is there."""
    for first, second in ((rb.devices()[0], rb.devices()[3]), (on("x"), on("y")), (on("x"), rb.devices()[1])):
        x = rb.device_put(HOST, first)
        y = rb.device_put(x, second, donate=True)
        x.is_deleted()
        assert same(y, HOST)


def parts_and_whole():
    parts = [s.data for s in rb.device_put(HOST, on("x", "y")).addressable_shards]
    return parts, rb.make_array_from_single_device_arrays(HOST.shape, on("x", "y"), parts)


def test_parts_are_not_given_up_under_the_whole():
    """A program some of whose devices find their part deleted never ends on the others. Shapes of parts that
    do not fit are refused in test_arrays.py.
    """
    parts, whole = parts_and_whole()
    part = np.asarray(parts[3])
    parts[3].delete()
    with pytest.raises(DeletedArrayError):
        np.asarray(parts[3])
    with pytest.raises(DeletedArrayError):
        jit(lambda x: x + 1)(parts[3])
    assert same(rb.device_put(whole, on()), HOST) and same(jit(lambda x: x.sum(0))(whole), HOST.sum(0))
    step = jit(lambda x: x + 1, donate_argnums=0)
    assert same(step(whole.addressable_shards[3].data), part + 1) and same(rb.reshard(whole, on()), HOST)
    assert same(step(parts[5]), np.asarray(whole.addressable_shards[5].data) + 1) and parts[5].is_deleted()
    with pytest.raises(DeletedArrayError):
        rb.make_array_from_single_device_arrays(HOST.shape, on("x", "y"), parts)


@pytest.mark.parametrize("donated", [False, True])
def test_the_whole_is_not_given_up_under_its_parts(donated):
    parts, whole = parts_and_whole()
    if donated:
        f = jit(lambda x: x + 1, donate_argnums=0, out_shardings=on("x", "y"))
        assert same(f(whole), HOST + 1)
    else:
        whole.delete()
    assert whole.is_deleted()
    for use in (np.asarray, lambda x: x + 1, lambda x: x.addressable_shards, lambda x: jit(lax.neg)(x)):
        with pytest.raises(DeletedArrayError):
            use(whole)
    assert same(rb.make_array_from_single_device_arrays(HOST.shape, on("x", "y"), parts), HOST)


def test_memory_that_nobody_else_has_is_given_up():
    x = rb.device_put(HOST, on("x"))
    raw = x.raw
    shards = x.addressable_shards
    del shards
    gc.collect()
    x.delete()
    assert raw.is_deleted()
    y = rb.device_put(HOST, on("x"))
    again = copy.copy(y)
    y.delete()
    assert same(again, HOST)


def test_what_is_deleted_or_failed_is_an_error_and_no_object():
    """jaxlib hands out an array of one object."""
    x = rb.device_put(HOST, on("x"))
    x.delete()
    with pytest.raises(DeletedArrayError):
        np.asarray(x)
    y = rb.device_put(HOST, on("x"))
    assert np.asarray(y).dtype == np.float32 and np.asarray(y).shape == HOST.shape


def test_equal_shardings_are_one():
    """jaxlib's compare unequal, and each would have its program."""
    other = on("x", mesh=rb.make_mesh((4, 2), ("x", "y")))
    assert rb.device_put(HOST, other).spec is rb.device_put(HOST, on("x")).spec


def test_the_place_of_a_device_where_axes_are_left_to_the_compiler():
    """The number of a partition alone is refused there."""
    f = mapped(lambda x: x + lax.axis_index("x"), axis_names={"x"})
    np.testing.assert_array_equal(f(HOST), HOST + np.repeat(np.arange(4), 4)[:, None])


def test_donated_memory_of_another_size():
    """It is refused by the runtime; here it is not used, and a warning says so."""
    f = jit(lambda x: x.T, donate_argnums=0, out_shardings=on("y", "x"))
    with pytest.warns(UserWarning, match="donated"):
        assert same(f(rb.device_put(HOST, on("x"))), HOST.T)
