"""``pmap``: each example on a device of its own."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import ShardingError
from rabbet.sharding import Mesh, NamedSharding, PartitionSpec

grad = pytest.importorskip("rabbet_autodiff").grad
vmap = pytest.importorskip("rabbet_vmap").vmap
pytest.importorskip("rabbet.numpy", reason="methods of arrays are in the package rabbet-numpy")

HOST = np.linspace(-1, 1, 8 * 6, dtype=np.float32).reshape(8, 6)


def close(x, y):
    np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-5, atol=1e-5)


def test_values_are_those_of_vmap():
    for f, args, options in (
        (lambda x: x * 2, (HOST,), {}),
        (lambda x, y: x * y, (HOST, 3.0), {"in_axes": (0, None)}),
        (lambda x, y: {"sum": x + y["a"]}, (HOST.T, {"a": HOST}), {"in_axes": (1, {"a": 0})}),
        (lambda x: (x, x.sum()), (HOST,), {"out_axes": (1, 0)}),
        (lambda x: (x[:, None] * x, {"a": x.sum()}), (HOST,), {"out_axes": (-2, -1)}),
        (lambda x: lax.psum(x, "i") + lax.axis_index("i"), (HOST,), {"axis_name": "i"}),
        (lambda x: x * 2, (HOST[:3],), {}),
    ):
        found, wanted = rb.pmap(f, **options)(*args), vmap(f, **options)(*args)
        for x, y in zip(rb.tree.leaves(found), rb.tree.leaves(wanted), strict=True):
            close(x, y)
            assert len(x.devices()) == (3 if args[0].shape[0] == 3 else 8)


NESTED = np.linspace(-1, 1, 4 * 2 * 3, dtype=np.float32).reshape(4, 2, 3)


def nested(by):
    """A map within a map, by ``pmap`` or ``vmap``, with exchanges along both axes."""
    total = lambda v: lax.sin(v) * lax.psum(v, "i") + lax.psum(v * v, "j") - lax.pmax(v, "i") * v.sum()
    return by(lambda r: by(total, axis_name="j")(r * 2) + r[0], axis_name="i")


def test_pmap_within_pmap():
    by_vmap = nested(vmap)(NESTED)
    for run in (nested(rb.pmap), rb.jit(nested(rb.pmap))):
        out = run(NESTED)
        close(out, by_vmap)
        assert len(out.devices()) == 8
    loss = lambda by: lambda x: (nested(by)(x) ** 2).sum()
    close(grad(loss(rb.pmap))(NESTED), grad(loss(vmap))(NESTED))
    for options in ({"out_axes": 1}, {"out_axes": -1}, {"in_axes": -1}, {"in_axes": 1, "out_axes": 1}):
        inner = lambda by, options=options: lambda r: by(lambda v: v * 2, **options)(r)
        close(rb.pmap(inner(rb.pmap))(NESTED[:2, :, :2]), vmap(inner(vmap))(NESTED[:2, :, :2]))
    scaled = lambda by, r: by(lambda v, w: v * w, in_axes=(0, None))(r, r[0])
    beside = lambda by: by(lambda r: by(lambda v: v + 1)(r) + scaled(by, r))
    close(beside(rb.pmap)(NESTED), beside(vmap)(NESTED))
    deep = lambda by: by(lambda a: by(lambda b: by(lambda c: c * lax.psum(c, "i"))(b))(a), axis_name="i")
    cube = NESTED[:2, :, :2]
    close(deep(rb.pmap)(cube), deep(vmap)(cube))
    first = rb.pmap(lambda r: rb.pmap(lambda v: v, out_axes=None)(r))(NESTED)
    close(first, NESTED[:, 0])
    batched = vmap(lambda x: nested(rb.pmap)(x))(np.stack([NESTED, 2 * NESTED]))
    close(batched, np.stack([by_vmap, nested(vmap)(2 * NESTED)]))


def test_static_donated_and_named_arguments():
    f = rb.pmap(lambda n, x, *, y: x * n + y, static_broadcasted_argnums=0)
    close(f(2, HOST, y=HOST), 3 * HOST)
    close(f(3, HOST, y=HOST), 4 * HOST)
    step = rb.pmap(lambda x: x + 1, donate_argnums=0)
    x = rb.pmap(lambda x: x)(HOST)
    close(step(x), HOST + 1)
    assert x.is_deleted()
    close(rb.pmap(lambda x: x, out_axes=None)(np.ones((8, 2), "f4")), np.ones(2))
    close(rb.pmap(lambda: lax.axis_index("i"), axis_name="i", axis_size=8)(), np.arange(8))
    close(rb.pmap(lambda x: x + 1, devices=rb.devices()[4:])(HOST[:4]), HOST[:4] + 1)


def test_donated_pytrees():
    step = rb.pmap(lambda state, x: {k: v + x for k, v in state.items()}, donate_argnums=0)
    a, b, x = [rb.pmap(lambda x: x + 1)(HOST) for _ in range(3)]
    close(step({"a": a, "b": b}, x)["b"], 2 * HOST + 2)
    assert (a.is_deleted(), b.is_deleted(), x.is_deleted()) == (True, True, False)


@pytest.mark.parametrize("donated", [0, 1, (0, 1)])
@pytest.mark.parametrize("new", [lambda: rb.pmap(lambda x: x + 1)(HOST), lambda: in_rows(rb.devices())])
def test_one_array_given_twice_and_donated(donated, new):
    """It is an error that names both, whichever mesh the array lies on, and the array stays."""
    step = rb.pmap(lambda state, x: state["w"] + x, donate_argnums=donated)
    both = r"pmap of .*more than once, as argument 'state'\['w'\] and argument 'x'"
    flat = rb.pmap(lambda x, y: (x + y, x - y), donate_argnums=donated)
    for _ in range(2):
        x = new()
        with pytest.raises(ValueError, match=both):
            step({"w": x}, x)
        with pytest.raises(ValueError, match="as argument 'x' and argument 'y'"):
            flat(x, x)
        parts = x.addressable_shards  # which share its memory
        with pytest.raises(ValueError, match="as argument 'x' and argument 'y'"):
            flat(x, x)
        close(np.concatenate([p.data for p in parts]), x)
        close(flat(new(), new())[0], 2 * HOST + 2)  # after it, what the arguments are is known


def in_rows(devices):
    """``HOST + 1``, a row on each device, by a mesh that is not the one of pmap."""
    return rb.device_put(HOST + 1, NamedSharding(Mesh(devices, ("own",)), PartitionSpec("own")))


def test_a_donated_array_that_the_program_has_from_outside():
    x = in_rows(rb.devices())
    f = rb.jit(lambda y: y + x, donate_argnums=0)
    with pytest.raises(ValueError, match=r"passed as argument 'y' and donated, and the function uses it"):
        f(x)
    close(f(in_rows(rb.devices())), 2 * HOST + 2)
    close(x, HOST + 1)


def test_what_lies_on_the_devices_already_is_not_copied():
    x, y = in_rows(rb.devices()), in_rows(rb.devices())
    close(rb.pmap(lambda x, y: x + y, donate_argnums=0)(x, y), 2 * HOST + 2)
    assert x.is_deleted()
    assert not y.is_deleted()
    one, two = [rb.device_put(HOST[:1], rb.devices()[0]) for _ in range(2)]
    close(rb.pmap(lambda x, y: x + y, donate_argnums=0)(one, two), 2 * HOST[:1])
    assert one.is_deleted()
    assert not two.is_deleted()
    z = in_rows(rb.devices()[::-1])
    close(rb.pmap(lambda x: x + 1, donate_argnums=0)(z), HOST + 2)
    assert not z.is_deleted()


def test_a_compiled_one_takes_the_same_arguments():
    f = rb.pmap(lambda n, t, *, y: {"sum": t["a"] * n + t["b"] + y}, static_broadcasted_argnums=0)
    compiled = f.lower(3, {"a": HOST, "b": HOST}, y=HOST).compile()
    close(compiled({"a": HOST, "b": HOST}, y=HOST)["sum"], 5 * HOST)


def test_derivatives_and_calls():
    loss = lambda x: (rb.pmap(lambda x: lax.psum(lax.sin(x), "i"), axis_name="i")(x) ** 2).sum()
    same = lambda x: (vmap(lambda x: lax.psum(lax.sin(x), "i"), axis_name="i")(x) ** 2).sum()
    close(grad(loss)(HOST), grad(same)(HOST))
    close(rb.jit(grad(loss))(HOST), grad(same)(HOST))
    assert "manual_computation" in rb.pmap(lambda x: x).lower(HOST).as_text()


def two_sizes(r):
    """Two inner maps along axes of one name and different sizes."""
    twice = rb.pmap(lambda v: v, axis_name="j")
    return twice(r[:2]), twice(r[:3])


def test_what_does_not_fit_is_refused():
    for make, error, words in (
        (lambda: rb.pmap(lambda x: x)(np.ones(9, "f4")), ShardingError, "9 examples need as many devices"),
        (lambda: rb.pmap(lambda x, y: x)(HOST, HOST[:4]), ValueError, r"of the sizes \[4, 8\]"),
        (lambda: rb.pmap(lambda x: x, in_axes=None)(HOST), ValueError, "give axis_size"),
        (lambda: rb.pmap(lambda x: x, in_axes=3)(HOST), ValueError, "in_axes is 3"),
        (lambda: rb.pmap(lambda x: x, in_axes=(0, 0))(HOST), ValueError, "in_axes is of length 2"),
        (
            lambda: rb.pmap(lambda x, y: x, static_broadcasted_argnums=1)(HOST, [1]),
            TypeError,
            "cannot be hashed",
        ),
        (
            lambda: rb.pmap(lambda r: rb.pmap(lambda v: v)(r))(np.ones((4, 3), "f4")),
            ShardingError,
            "4 x 3 examples need as many devices, and there are 8",
        ),
        (
            lambda: rb.pmap(lambda r: rb.pmap(lambda v: v, axis_name="i")(r), axis_name="i")(HOST[:2, :2]),
            ShardingError,
            "'i' is that of a pmap around it",
        ),
        (lambda: rb.pmap(two_sizes)(np.ones((2, 6), "f4")), ShardingError, "another pmap beside"),
        (
            lambda: rb.pmap(lambda r: rb.pmap(lambda v: v, devices=rb.devices())(r))(HOST[:2, :2]),
            ShardingError,
            "the pmap around it has the devices",
        ),
        (lambda: rb.pmap(lambda x: x)(np.ones((0, 3))), ValueError, "there are no examples"),
        (lambda: rb.device_put_sharded([1.0], rb.devices()), ValueError, "1 shards for 8 devices"),
    ):
        with pytest.raises(error, match=words):
            make()


def test_arrays_with_a_part_for_each_device():
    x = rb.device_put_sharded(list(HOST), rb.devices())
    close(x, HOST)
    assert [s.data.shape for s in x.addressable_shards] == [(1, 6)] * 8
    close(rb.pmap(lambda x: x * 2)(x), 2 * HOST)
    close(rb.device_put_replicated({"a": HOST}, rb.devices()[:3])["a"], np.stack([HOST] * 3))


def test_arguments_of_another_kind_after_the_first_call():
    """What was remembered of arrays that lie as they should is not used for others."""
    doubled = rb.pmap(lambda x, y=1.0: x * 2 + y)
    x = np.arange(16, dtype=np.float32).reshape(8, 2)
    out = doubled(x)
    for again in (out, out, x, np.asarray(out), rb.device_put(x, rb.devices()[3]), out.astype("int32")):
        assert np.array_equal(np.asarray(doubled(again)), np.asarray(again) * 2 + 1)
    assert np.array_equal(np.asarray(doubled(out, out)), np.asarray(out) * 3)
    assert np.array_equal(np.asarray(doubled(out[:4])), np.asarray(out)[:4] * 2 + 1)
    with pytest.raises(ShardingError, match="16 examples"):
        doubled(lax.reshape(rb.device_put(np.zeros((16, 2), np.float32), out.sharding), (16, 2)))
    held = rb.pmap(lambda x, n: x * n, static_broadcasted_argnums=1)
    for n in (2, 3, 2):
        assert np.array_equal(np.asarray(held(out, n)), np.asarray(out) * n)
