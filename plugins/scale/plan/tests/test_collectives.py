"""Bytes of collective operations against those worked out by hand, on a mesh of 4 x 2."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax, planning
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P
from rabbet_plan.groups import axes_of, axes_of_pairs, from_iota, on_mesh
from rabbet_plan.protobuf import message

rnp = pytest.importorskip("rabbet.numpy")

pytestmark = pytest.mark.needs("cpu", "numpy", "grad", "shard_map")
SIZES = {"data": 4, "model": 2}
LOCAL = 4 * 6 * 4  # bytes of what one device has of f32[16,12]
IN = P("data", "model")


@pytest.fixture(scope="module")
def mesh():
    return planning.topology("cpu:8").mesh(SIZES)


def sds(mesh, shape, *spec, dtype="float32"):
    return rb.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, P(*spec)))


def planned(mesh, body, out, check_vma=True):
    mapped = rb.shard_map(body, mesh=mesh, in_specs=IN, out_specs=out, check_vma=check_vma)
    return planning.plan(mapped, sds(mesh, (16, 12), "data", "model"))


# Each: the body, its out_specs, and of the one operation its kind, axes, bytes put in or got, and bytes sent.
RING = [(i, (i + 1) % 4) for i in range(4)]
OVER_DATA = P(None, "model")
CASES = {
    "psum": (lambda x: lax.psum(x, "data"), OVER_DATA, "all-reduce", "data", LOCAL, LOCAL * 2 * 3 / 4),
    "all_gather": (
        lambda x: lax.all_gather(x, "data", tiled=True), OVER_DATA, "all-gather", "data", 4 * LOCAL,
        3 * LOCAL,
    ),
    "psum_scatter": (
        lambda x: lax.psum_scatter(x, "data", tiled=True), IN, "reduce-scatter", "data", LOCAL, LOCAL * 3 / 4,
    ),
    "all_to_all": (
        lambda x: lax.all_to_all(x, "model", 1, 0, tiled=True), P(("data", "model")), "all-to-all", "model",
        LOCAL, LOCAL / 2,
    ),
    "ppermute": (lambda x: lax.ppermute(x, "data", RING), IN, "collective-permute", "data", LOCAL, LOCAL),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_bytes_of_each_collective(mesh, name):
    body, out, kind, axis, size, sent = CASES[name]
    (found,) = planned(mesh, body, out, check_vma=name != "all_gather").collectives
    assert (found.kind, found.axes, found.times, found.known) == (kind, (axis,), 1, True)
    assert (found.bytes, found.sent) == (size, sent)


def test_a_sum_over_two_axes(mesh):
    found = planned(mesh, lambda x: lax.psum(x, ("data", "model")), P())
    assert set().union(*found.bytes_by_axis()) == {"data", "model"}
    assert {c.bytes for c in found.collectives} == {LOCAL}


def test_a_loop_counts_as_often_as_it_runs(mesh):
    def body(x):
        def turn(x, _):
            return lax.ppermute(x, "data", RING) * 2, None

        return lax.scan(turn, x, None, length=7)[0]

    (found,) = planned(mesh, body, IN).collectives
    assert (found.kind, found.times, found.bytes) == ("collective-permute", 7, LOCAL)
    (row,) = planned(mesh, body, IN).exchanges
    assert (row.count, row.bytes, row.sent) == (7, 7 * LOCAL, 7 * LOCAL)


def test_a_loop_whose_rounds_depend_on_values_is_said(mesh):
    def body(x):
        return lax.while_loop(lambda x: x.sum() < 9, lambda x: lax.psum(x, "data"), x)

    mapped = rb.shard_map(body, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False)
    found = planning.plan(mapped, sds(mesh, (4,)))
    assert found.unknown_loops == 1 and [c.known for c in found.collectives] == [False]
    assert "number of rounds that is not known" in found.report()


def test_automatic_partitioning_data_and_tensor_parallel(mesh):
    """A gradient of a weight cut over the model is summed over the data, of its own part."""

    def step(w, x):
        return w - rb.grad(lambda w: rnp.sum(rnp.tanh(x @ w)))(w)

    found = planning.plan(step, sds(mesh, (64, 32), None, "model"), sds(mesh, (128, 64), "data"))
    assert found.bytes_by_axis() == {("data",): 64 * 16 * 4}
    (row,) = found.exchanges
    assert row.kind == "all-reduce" and row.size == 4 and "test_collectives.py:" in row.where


def test_no_collectives(mesh):
    found = planning.plan(lambda x: rnp.sin(x), sds(mesh, (8, 2), "data"))
    assert found.collectives == () and "collectives none" in found.report()


# ------------------------------------------------------------------------------------------------- groups
def test_axes_of_groups():
    sizes = {"a": 2, "b": 4, "c": 2}
    grid = np.arange(16).reshape(2, 4, 2)
    assert axes_of(grid.transpose(0, 2, 1).reshape(-1, 4), sizes) == ("b",)
    assert axes_of(grid.transpose(1, 0, 2).reshape(-1, 4), sizes) == ("a", "c")
    assert axes_of(grid.reshape(2, 2, 2, 2).transpose(0, 1, 3, 2).reshape(-1, 2), sizes) == ("part of b",)
    assert axes_of([list(range(16))], sizes) == ("a", "b", "c")
    assert axes_of_pairs([(0, 1), (2, 3)], sizes) == ("c",)
    assert axes_of_pairs([(0, 9), (9, 0)], sizes) == ("a", "c")
    assert axes_of_pairs([(3, 3)], sizes) == ()


def field(number, value):
    if isinstance(value, int):
        return bytes([number << 3, value])
    return bytes([number << 3 | 2, len(value)]) + value


def test_groups_as_xla_writes_them():
    """``[2,4]<=[4,2]T(1,0)``, and axes of a mesh, one of them a part."""
    iota = b"".join([field(1, 2), field(2, 4), field(3, bytes([4, 2])), field(4, bytes([1, 0]))])
    assert from_iota(message(iota)) == [[0, 2, 4, 6], [1, 3, 5, 7]]
    axes = [field(1, b"a") + field(2, 4), field(1, b"b") + field(2, 2)]
    mesh = field(1, b"".join([field(1, axis) for axis in axes]))
    assert on_mesh(message(mesh + field(2, field(1, 1)))) == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert on_mesh(message(mesh + field(2, b""))) == [[0, 2, 4, 6], [1, 3, 5, 7]]
    outer = field(2, field(2, field(1, 1) + field(2, 2)))  # 'a':(1)2
    assert on_mesh(message(mesh + outer)) == [[0, 4], [1, 5], [2, 6], [3, 7]]
    inner = field(2, field(2, field(1, 2) + field(2, 2)))  # 'a':(2)2
    assert on_mesh(message(mesh + inner)) == [[0, 2], [1, 3], [4, 6], [5, 7]]
    both = field(2, field(1, 1)) + field(2, b"")  # 'b' before 'a'
    assert on_mesh(message(mesh + both)) == [[0, 2, 4, 6, 1, 3, 5, 7]]
