"""Values never depend on the order of the dimensions in memory, whichever way a program comes to an array.

The runtime compares sizes only: a program that read an array in another order than it lies would find other
numbers, and say nothing.
"""

import copy
import itertools
import pickle

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.experimental.layout import Format, Layout, with_layout_constraint
from rabbet.extend.native import compiler_has
from rabbet.sharding import AxisType, Mesh, NamedSharding, PartitionSpec, SingleDeviceSharding

pytest.importorskip("rabbet_autodiff")
pytest.importorskip("rabbet_vmap")
rnp = pytest.importorskip("rabbet.numpy")

MESH = Mesh(np.array(rb.devices()).reshape(4, 2), ("x", "y"))
PLACES = {
    "one": SingleDeviceSharding(rb.devices()[0]),
    "another": SingleDeviceSharding(rb.devices()[3]),
    "cut": NamedSharding(MESH, PartitionSpec("x")),
    "cut twice": NamedSharding(MESH, PartitionSpec("x", "y")),
    "cut behind": NamedSharding(MESH, PartitionSpec(None, "y")),
    "whole": NamedSharding(MESH, PartitionSpec()),
}
ORDERS = list(itertools.permutations(range(3)))[1:]
A = np.random.default_rng(0).normal(size=(8, 4, 6)).astype(np.float32)
B = np.random.default_rng(1).normal(size=(8, 6, 4)).astype(np.float32)

SMOOTH = {
    "elementwise": lambda a, b: lax.sin(a) * 2,
    "both": lambda a, b: a + b.transpose(0, 2, 1),
    "products": lambda a, b: a @ b,
    "a sum": lambda a, b: a.sum(0),
    "a shape": lambda a, b: a.reshape(32, 6),
    "an index": lambda a, b: a[:, 1, ::2],
    "an update": lambda a, b: a.at[2, 1].set(5.0),
    "sorted": lambda a, b: rnp.sort(a, 1),
    "running sums": lambda a, b: rnp.cumsum(a, 2),
    "joined": lambda a, b: rnp.concatenate([a, a * 2], 2),
    "a loop": lambda a, b: lax.scan(lambda c, row: (c + row, c * row), a[0], a),
    "batched": lambda a, b: rb.vmap(lambda x, y: x @ y)(a, b),
    "nothing": lambda a, b: (a, b),
}
OTHERS = {
    "a choice": lambda a, b: rnp.argmax(a, 1),
    "bits": lambda a, b: lax.bitcast_convert_type(a, "int32"),
}


def laid(x, order, place):
    return rb.device_put(x, Format(Layout(order), place))


def same(found, wanted):
    for x, y in zip(rb.tree.leaves(found), rb.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=2e-4, atol=2e-4)


# Each program in two places, and each order in two: all of them take minutes.
NAMES = [*SMOOTH, *OTHERS]
PROGRAMS = [
    (name, place) for i, name in enumerate(NAMES) for j, place in enumerate(PLACES) if (i + j) % 3 == 0
]
READS = [
    (order, place) for i, order in enumerate(ORDERS) for j, place in enumerate(PLACES) if (i + j) % 3 == 0
]


@pytest.mark.parametrize(("name", "where"), PROGRAMS)
@pytest.mark.filterwarnings("ignore:.*donated arrays of the types")
def test_programs(name, where):
    f, place = {**SMOOTH, **OTHERS}[name], PLACES[where]
    number = PROGRAMS.index((name, where))
    first, second = ORDERS[number % 5], ORDERS[(number // 5) % 5]
    a, b = laid(A, first, place), laid(B, second, place)
    rows = rb.device_put((A, B), place)
    wanted = rb.tree.map(np.asarray, f(rnp.array(A), rnp.array(B)))
    assert a.format == Format(Layout(first), place)
    jitted = rb.jit(f)
    compiled = jitted.lower(a, b).compile()
    for args in ((a, b), (a, b), rows, (a, rows[1]), (rows[0], b), (A, b)):
        if args[0] is not A:  # NumPy computes by itself
            same(f(*args), wanted)
        same(jitted(*args), wanted)
        same(compiled(*args), wanted)
    same(compiled(laid(A, second, place), laid(B, first, place)), wanted)
    if where != "another":  # what is lowered for one device is compiled for the first
        same(jitted.lower(*rows).compile()(a, b), wanted)
    same(rb.jit(lambda: f(a, b))(), wanted)
    same(rb.jit(lambda b: f(a, b))(b), wanted)
    giving = rb.jit(f, donate_argnums=(0, 1))
    same(giving(laid(A, first, place), copy.deepcopy(b)), wanted)
    if name in SMOOTH:
        total = lambda a, b: sum((x**2).sum() for x in rb.tree.leaves(f(a, b)))
        slopes = rb.grad(total, (0, 1))(rnp.array(A), rnp.array(B))
        same(rb.jit(rb.grad(total, (0, 1)))(a, b), slopes)
    same((a, b), (A, B))


@pytest.mark.parametrize(("order", "where"), READS)
def test_all_that_reads_an_array(order, where):
    place = PLACES[where]
    x = laid(A, order, place)
    for read in (
        np.asarray,
        rb.device_get,
        lambda x: pickle.loads(pickle.dumps(x)),
        copy.copy,
        copy.deepcopy,
        lambda x: np.asarray(x.tolist(), np.float32),
        lambda x: [np.asarray(row) for row in x],
        lambda x: rb.device_put(x, x.format, may_alias=False),
        lambda x: rb.jit(lambda x: x, out_shardings=x.format)(A),
        lambda x: rb.jit(lambda x: x, in_shardings=x.format)(x),
        *[lambda x, to=to: rb.device_put(x, to) for to in PLACES.values()],
        *[lambda x, to=to: laid(x, (1, 2, 0), to) for to in PLACES.values()],
    ):
        found = read(x)
        same(rnp.stack(found) if isinstance(found, list) else found, A)
        if isinstance(found, rb.Array):
            same(found + 1, A + 1)
    for part in x.addressable_shards:
        same((part.data, part.data + 1), (A[part.index], A[part.index] + 1))
    parts = [part.data for part in x.addressable_shards]
    same(rb.make_array_from_single_device_arrays(A.shape, place, parts) + 1, A + 1)
    same(rb.pmap(lambda x: x.T * 2)(x), A.transpose(0, 2, 1) * 2)
    if len(place.device_set) == 1:
        same((np.from_dlpack(x), rnp.from_dlpack(x) + 1), (A, A + 1))
    else:
        cut, turned = PartitionSpec("x", "y"), PartitionSpec("y", "x")
        each = rb.shard_map(lambda x: x.transpose(1, 0, 2), mesh=MESH, in_specs=cut, out_specs=turned)
        same((each(x), rb.jit(each)(x)), (A.transpose(1, 0, 2),) * 2)


def test_callbacks_and_artifacts():
    x = laid(A, (2, 0, 1), PLACES["one"])
    callbacks = pytest.importorskip("rabbet_callbacks")
    double = rb.jit(lambda x: callbacks.pure_callback(lambda v: np.asarray(v) * 2, x, x))
    same(double(x), A * 2)
    export = pytest.importorskip("rabbet.export")
    for given in (x, A):
        made = export.deserialize(export.export(rb.jit(lambda x: x.T + 1))(given).serialize())
        same((made.call(x), made.call(A)), (A.T + 1, A.T + 1))


@pytest.mark.parametrize("kind", [AxisType.Auto, AxisType.Explicit])
def test_constraints_within_a_function_leave_parts_where_they_are(kind):
    mesh = rb.make_mesh((8,), ("i",), axis_types=(kind,), devices=rb.devices("cpu"))
    places = PartitionSpec("i")
    host = np.arange(16 * 4 * 6, dtype=np.float32).reshape(16, 4, 6)
    x = rb.device_put(host, NamedSharding(mesh, places))
    f = rb.jit(lambda x: lax.sin(with_layout_constraint(x * 2, Layout((2, 0, 1)))))
    text = f.lower(x).compile().as_text()
    assert ("f32[2,4,6]{1,0,2}" in text) == compiler_has("layouts of what is cut")
    assert "all-gather" not in text
    np.testing.assert_allclose(f(x), np.sin(host * 2), rtol=1e-6)
    add = lambda x: with_layout_constraint(x, Layout((2, 0, 1))) + 1
    parts = rb.shard_map(add, mesh=mesh, in_specs=places, out_specs=places)
    np.testing.assert_array_equal(rb.jit(parts)(x), host + 1)
