"""``pmap`` over two processes with two devices each: each gives and gets its own rows."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet import numpy as rnp
from rabbet.errors import ShardingError

rb.distributed.initialize()
me, count = rb.process_index(), rb.local_device_count()
assert (count, rb.device_count()) == (2, 4)
whole = np.arange(12, dtype=np.float32).reshape(4, 3)
rows = whole[2 * me : 2 * me + 2]


def same(found, wanted):
    assert found.is_fully_addressable and found.shape == np.shape(wanted), (found.shape, np.shape(wanted))
    np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-6)


# --- collectives and the number of an example go over all processes; results are one's own rows
total = rb.pmap(lambda x: lax.psum(x, "i"), axis_name="i")
same(total(rows), np.broadcast_to(whole.sum(0), (2, 3)))
same(total(rnp.asarray(rows)), np.broadcast_to(whole.sum(0), (2, 3)))
numbers = rb.pmap(lambda x: x * 0 + lax.axis_index("i").astype("float32"), axis_name="i")(rows)
same(numbers, np.float32([[2 * me] * 3, [2 * me + 1] * 3]))
same(rb.pmap(lambda x: lax.all_gather(x, "i"), axis_name="i")(rows), np.broadcast_to(whole, (2, 4, 3)))
same(
    rb.pmap(lambda x: lax.ppermute(x, "i", [(n, (n + 1) % 4) for n in range(4)]), axis_name="i")(rows),
    np.roll(whole, 1, 0)[2 * me : 2 * me + 2],
)

# --- what checks numbers looks at the parts that this process has
with rb.config.override(debug_nans=True, debug_infs=True):
    same(rb.pmap(lambda x: x + 1.0)(rows), rows + 1)
    with pytest.raises(FloatingPointError, match="produced a NaN"):
        rb.pmap(lambda x: lax.log(x - 20.0))(rows)

# --- a result is an argument again, and lies on this process's devices
again = total(total(rows))
same(again, np.broadcast_to(4 * whole.sum(0), (2, 3)))
assert again.sharding.device_set == set(rb.local_devices())

# --- one example in each process; other places of the mapped dimension; trees; what is not mapped
same(rb.pmap(lambda x: lax.psum(x, "i"), axis_name="i")(rows[:1]), whole[[0]] + whole[[2]])
turned = rb.pmap(
    lambda t, s: (t["a"] * s, lax.pmean(t["a"], "i")), axis_name="i", in_axes=(1, None), out_axes=(1, None)
)
own, mean = turned({"a": rows.T}, 2.0)
same(own, rows.T * 2)
same(mean, whole.mean(0))
same(rb.pmap(lambda: lax.axis_index("i"), axis_name="i", axis_size=4)(), np.int32([2 * me, 2 * me + 1]))

# --- a training step: parameters on each device, gradients averaged over all
weights = rb.device_put_replicated(np.float32([1, 2, 3]), rb.local_devices())


def loss(w, x):
    return ((x @ w) ** 2).mean()


def step(w, x):
    return w - 0.1 * lax.pmean(rb.grad(loss)(w, x), "i")


stepped = rb.pmap(step, axis_name="i", donate_argnums=0)(weights, rows)
w = np.float32([1, 2, 3])
same(stepped, np.broadcast_to(w - 0.1 * np.mean([2 * (x @ w) * x for x in whole], 0), (2, 3)))

# --- keys
keys = rb.random.split(rb.random.key(me), 2)
drawn = rb.pmap(lambda k: lax.all_gather(rb.random.normal(k), "i"), axis_name="i")(keys)
assert len(set(np.asarray(drawn)[0].tolist())) == 4

# --- devices that are named, in an order of one's own; those of this process alone
order = [rb.devices()[i] for i in (3, 0, 1, 2)]
place = [[1, 2], [0, 3]][me]  # where this process's devices stand in it
listed = rb.pmap(lambda x: x * 0 + lax.axis_index("i").astype("float32"), axis_name="i", devices=order)
same(listed(rows[:, 0]), np.float32(place))
alone = rb.pmap(lambda x: lax.psum(x, "i"), axis_name="i", devices=rb.local_devices())
same(alone(rows), np.broadcast_to(rows.sum(0), (2, 3)))

# --- one within another
inner = rb.pmap(lambda x: lax.psum(x, ("i", "j")), axis_name="j")
same(rb.pmap(inner, axis_name="i")(rows[:1, :2]), np.full((1, 2), whole[[0, 2], :2].sum(), np.float32))

# --- what is refused
with pytest.raises(ShardingError, match="3 examples need as many devices, and process 0 has 2"):
    total(np.ones((3, 2), np.float32))
with pytest.raises(ShardingError, match="own rows"):
    mesh = rb.make_mesh((4,), ("x",))
    total(rb.make_array_from_callback(
        (4, 3), rb.sharding.NamedSharding(mesh, rb.sharding.PartitionSpec("x")), lambda index: whole[index]
    ))  # fmt: skip
with pytest.raises(ShardingError, match="takes arrays, got the traced"):
    rb.jit(total)(rows)
with pytest.raises(ShardingError, match="axis_size is 3"):
    rb.pmap(lambda: 1.0, axis_size=3)()
with pytest.raises(ShardingError, match="examples; give one for each"):
    listed(rows[:1, 0])
with pytest.raises(ValueError, match="passed more than once"):
    twice = rb.pmap(lambda x, y: x + y, donate_argnums=0)
    twice(stepped, stepped)

rb.distributed.shutdown()
print("all is well")
