"""Operations and bytes of programs against those worked out by hand."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax, planning
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P
from rabbet_plan.arithmetic import meetings

rnp = pytest.importorskip("rabbet.numpy")

pytestmark = pytest.mark.needs("cpu", "numpy", "grad")


@pytest.fixture(scope="module")
def mesh():
    return planning.topology("cpu:4").mesh({"x": 4})


def sds(mesh, shape, *spec):
    return rb.ShapeDtypeStruct(shape, "float32", sharding=NamedSharding(mesh, P(*spec)))


def test_matrix_products(mesh):
    found = planning.plan(lambda a, b: a @ b, sds(mesh, (64, 32), "x"), sds(mesh, (32, 48)))
    assert found.matrix_flops == 2 * 16 * 32 * 48 and found.useful == 1.0
    # What every device does alike is of no use.
    found = planning.plan(lambda a, b: a @ b, sds(mesh, (64, 32)), sds(mesh, (32, 48)))
    assert found.matrix_flops == 2 * 64 * 32 * 48 and found.useful == 0.25
    assert "75% of the products are done more than once" in found.report()


def test_batches_loops_and_gradients(mesh):
    found = planning.plan(
        lambda a, b: rnp.einsum("bij,bkj->bik", a, b),
        sds(mesh, (8, 16, 32), "x"),
        sds(mesh, (8, 24, 32), "x"),
    )
    assert found.matrix_flops == 2 * 2 * 16 * 24 * 32

    def loss(w, x):
        return lax.scan(lambda x, _: (rnp.tanh(x @ w), None), x, None, length=5)[0].sum()

    arguments = sds(mesh, (32, 32)), sds(mesh, (64, 32), "x")
    once = 2 * 16 * 32 * 32
    assert planning.plan(loss, *arguments).matrix_flops == 5 * once
    assert planning.plan(rb.grad(loss), *arguments).matrix_flops == 15 * once


def test_captured_arrays_lie_on_every_device(mesh):
    table = rnp.arange(64, dtype="float32").reshape(1, 64)
    found = planning.plan(lambda x: x @ rnp.ones((64, 8)) + (x * table).sum(), sds(mesh, (16, 64), "x"))
    assert found.memory.arguments == (4 * 64 + 64) * 4
    assert [b.what for b in found.buffers if b.use == "argument"] == ["x", "captured array 0"]


def test_elementwise_and_traffic(mesh):
    found = planning.plan(lambda x: x * 3 + 1, sds(mesh, (4096,), "x"))
    assert found.flops == 2 * 1024 and found.matrix_flops == 0 and found.useful is None
    assert found.traffic == 2 * 1024 * 4


def test_traffic_of_a_loop_over_rows_counts_rows(mesh):
    """A loop that reads and writes a row at a time moves the array once, not once for each row."""

    def rows(x):
        return lax.scan(lambda c, row: (c, rnp.sin(row)), 0.0, x)[1]

    found = planning.plan(rows, sds(mesh, (64, 4096), None, "x"))
    once = 2 * 64 * 1024 * 4
    assert once <= found.traffic < 1.6 * once


def test_convolution(mesh):
    """Products with padding do not count; the count is that of a loop over places."""

    def f(x, k):
        return lax.conv_general_dilated(x, k, (2, 1), ((1, 1), (0, 2)), rhs_dilation=(1, 2))

    x, k = (8, 3, 9, 7), (5, 3, 3, 2)
    found = planning.plan(f, sds(mesh, x, "x"), sds(mesh, k))
    ones = float(np.asarray(f(np.ones((1, 1, 9, 7), "float32"), np.ones((1, 1, 3, 2), "float32"))).sum())
    assert found.matrix_flops == 2 * 2 * 5 * 3 * ones


@pytest.mark.parametrize(
    "stride, low, high, hole, dilation", [(1, 0, 0, 1, 1), (2, 1, 3, 2, 1), (3, 2, 0, 1, 2), (1, 4, 1, 2, 3)]
)
def test_places_where_kernel_and_array_meet(stride, low, high, hole, dilation):
    size, length = 7, 3
    padded = np.zeros(low + (size - 1) * dilation + 1 + high, int)
    padded[low : len(padded) - high : dilation] = 1
    reach = (length - 1) * hole + 1
    starts = range(0, len(padded) - reach + 1, stride)
    wanted = sum([padded[s : s + reach : hole].sum() for s in starts])
    window = {1: [length], 2: [stride], 3: [low], 4: [high], 5: [hole], 6: [dilation]}
    assert meetings(window, size, len(starts)) == wanted
