"""Layouts of arrays over several devices: the order of the dimensions of each part."""

import copy

import numpy as np
import pytest
import rabbet as rb
from rabbet.experimental.layout import Format, Layout
from rabbet.sharding import Mesh, NamedSharding, PartitionSpec

HOST = np.arange(16 * 6, dtype=np.float32).reshape(16, 6)
MESH = Mesh(np.array(rb.devices()), ("x",))
BY_COLUMNS = Layout((1, 0))


def on(*spec):
    return NamedSharding(MESH, PartitionSpec(*spec))


def turned(*spec):
    return rb.device_put(HOST, Format(BY_COLUMNS, on(*spec)))


@pytest.mark.parametrize("spec", [("x",), (None, None), ()])
def test_values_do_not_depend_on_the_order(spec):
    x = turned(*spec)
    assert x.format == Format(BY_COLUMNS, on(*spec)) and x.sharding == on(*spec)
    for f, wanted in (
        (lambda x: x + 1, HOST + 1),
        (lambda x: x @ x.T, HOST @ HOST.T),
        (lambda x: x[3], HOST[3]),
    ):
        for run in (
            f,
            rb.jit(f),
            rb.jit(f).lower(x).compile(),
            rb.jit(f).lower(rb.device_put(HOST, on(*spec))).compile(),
        ):
            np.testing.assert_array_equal(run(x), wanted)
    np.testing.assert_array_equal(x, HOST)
    np.testing.assert_array_equal(copy.deepcopy(x) + 1, HOST + 1)
    for part in x.addressable_shards:
        assert part.data.format.layout == BY_COLUMNS
        np.testing.assert_array_equal(part.data, HOST[part.index])
        np.testing.assert_array_equal(part.data + 1, HOST[part.index] + 1)


def test_to_another_sharding_and_back():
    x = turned("x")
    for place in (
        on("x"),
        on(),
        rb.devices()[3],
        Format(BY_COLUMNS, on()),
        Format(BY_COLUMNS, rb.devices()[2]),
    ):
        y = rb.device_put(x, place)
        np.testing.assert_array_equal(y, HOST)
        np.testing.assert_array_equal(y * 2, HOST * 2)
    parts = [rb.device_put(HOST[2 * i : 2 * i + 2], d) for i, d in enumerate(rb.devices())]
    made = rb.make_array_from_single_device_arrays(HOST.shape, Format(BY_COLUMNS, on("x")), parts)
    called = rb.make_array_from_callback(HOST.shape, Format(BY_COLUMNS, on("x")), lambda index: HOST[index])
    again = rb.make_array_from_single_device_arrays(
        HOST.shape, on("x"), [p.data for p in x.addressable_shards]
    )
    np.testing.assert_array_equal(again * 2, HOST * 2)
    for y in (made, called):
        assert y.format.layout == BY_COLUMNS
        np.testing.assert_array_equal(y * 2, HOST * 2)


def test_results_and_donated_arguments():
    step = rb.jit(lambda x: x + 1, donate_argnums=0, out_shardings=Format(BY_COLUMNS, on("x")))
    x = turned("x")
    y = step(x)
    assert x.is_deleted() and y.format == Format(BY_COLUMNS, on("x"))
    np.testing.assert_array_equal(step(y), HOST + 2)


def test_each_device_by_itself():
    x = turned("x")
    doubled = rb.shard_map(
        lambda x: x * 2, mesh=MESH, in_specs=PartitionSpec("x"), out_specs=PartitionSpec("x")
    )
    for run in (doubled, rb.jit(doubled)):
        np.testing.assert_array_equal(run(x), HOST * 2)
    rows = rb.device_put(HOST[:8], Format(BY_COLUMNS, on("x")))
    np.testing.assert_array_equal(rb.pmap(lambda x: x * 2)(rows), HOST[:8] * 2)
    pytest.importorskip("rabbet_autodiff")
    np.testing.assert_array_equal(rb.grad(lambda x: (doubled(x) ** 2).sum())(x), 8 * HOST)
