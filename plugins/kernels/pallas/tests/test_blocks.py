"""How arrays are cut into blocks: edges, squeezed and other dimensions, grids, prefetched scalars, trees."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.experimental import pallas as pl
from rabbet.experimental.pallas import tpu


def struct(*shape, dtype="float32"):
    return rb.ShapeDtypeStruct(shape, dtype)


def copy(x, out):
    out[...] = x[...]


def nothing(x, out):
    """Writes to no result."""


@pytest.mark.parametrize("shape", [(8, 12), (7, 12), (8, 10), (1, 1), (9, 9)])
def test_blocks_at_edges(shape):
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    grid = pl.cdiv(shape[0], 4), pl.cdiv(shape[1], 5)
    block = pl.BlockSpec((4, 5), lambda i, j: (i, j))

    def kernel(x, out):
        out[...] = x[...] * 2

    out = pl.pallas_call(kernel, struct(*shape), grid=grid, in_specs=[block], out_specs=block)(x)
    np.testing.assert_array_equal(out, x * 2)


def test_squeezed_dimensions_and_order():
    x = np.arange(24, dtype="float32").reshape(2, 3, 4)

    def kernel(x, out):
        assert x.shape == (4,) and out.shape == (4, 1)
        out[:, 0] = x[...]

    for none in (None, pl.Squeezed(), pl.squeezed):
        out = pl.pallas_call(
            kernel, struct(3, 4, 2), grid=(3, 2),
            in_specs=[pl.BlockSpec((none, none, 4), lambda i, j: (j, i, 0))],
            out_specs=pl.BlockSpec((none, 4, 1), lambda i, j: (i, 0, j)),
        )(x)  # fmt: skip
        np.testing.assert_array_equal(out, x.transpose(1, 2, 0))


def test_blocks_that_begin_at_any_element():
    x = np.arange(10, dtype="float32")
    call = pl.pallas_call(
        copy, struct(4, 3), grid=4,
        in_specs=[pl.BlockSpec((pl.Element(3),), lambda i: (2 * i,))],
        out_specs=pl.BlockSpec((None, 3), lambda i: (i, 0)),
    )  # fmt: skip
    np.testing.assert_array_equal(call(x), [x[2 * i : 2 * i + 3] for i in range(4)])

    def windows(x, out):
        out[...] = rnp.where(rnp.arange(3) + pl.program_id(0) == 0, 0, x[...])

    padded = pl.pallas_call(
        windows, struct(10, 3), grid=10,
        in_specs=[pl.BlockSpec((pl.Element(3, (1, 1)),), lambda i: (i,))],
        out_specs=pl.BlockSpec((None, 3), lambda i: (i, 0)),
    )(x)  # fmt: skip
    np.testing.assert_array_equal(padded[:-1], np.stack([np.pad(x, 1)[i : i + 3] for i in range(9)]))


def test_parts_of_sizes_that_are_computed():
    x, starts, sizes = np.arange(10, dtype="float32"), np.int32([0, 3, 4]), np.int32([3, 1, 6])

    def kernel(starts, sizes, x, out):
        out[...] = x[...] + 100

    spec = pl.BlockSpec((pl.BoundedSlice(6),), lambda i, starts, sizes: (pl.ds(starts[i], sizes[i]),))
    call = pl.pallas_call(
        kernel, struct(10),
        grid_spec=tpu.PrefetchScalarGridSpec(2, (3,), [spec], spec),
    )  # fmt: skip
    np.testing.assert_array_equal(call(starts, sizes, x), x + 100)
    left = pl.pallas_call(
        kernel, struct(10), input_output_aliases={2: 0},
        grid_spec=tpu.PrefetchScalarGridSpec(2, (2,), [spec], spec),
    )(starts, sizes, x)  # fmt: skip
    np.testing.assert_array_equal(left, np.where(np.arange(10) < 4, x + 100, x))


def test_prefetched_scalars_choose_blocks():
    x = np.arange(12, dtype="float32").reshape(6, 2)
    order = {"rows": np.int32([5, 0, 3]), "more": (np.int32([1, 2, 3]),)}

    def kernel(order, x, out):
        out[...] = x[...] * order["more"][0][pl.program_id(0)]

    call = pl.pallas_call(
        kernel, struct(3, 2),
        grid_spec=tpu.PrefetchScalarGridSpec(
            1, (3,), [pl.BlockSpec((None, 2), lambda i, order: (order["rows"][i], 0))],
            pl.BlockSpec((None, 2), lambda i, order: (i, 0)),
        ),
    )  # fmt: skip
    wanted = x[[5, 0, 3]] * [[1], [2], [3]]
    np.testing.assert_array_equal(rb.jit(call)(order, x), wanted)
    np.testing.assert_array_equal(rb.grad(lambda x: call(order, x).sum())(x)[:, 0], [2, 0, 0, 3, 0, 1])


@pytest.mark.forbidden("enable_x64")
def test_a_computed_grid():
    def kernel(x, start, out):
        out[...] = out[...] + x[...] * pl.num_programs(0)

    def total(n, x):
        return pl.pallas_call(
            kernel, struct(2), grid=(n, 2), input_output_aliases={1: 0},
            in_specs=[pl.BlockSpec((None, 2), lambda i, j: (i, 0)), pl.BlockSpec()],
            out_specs=pl.BlockSpec((2,), lambda i, j: (0,)),
        )  # fmt: skip

    x = np.arange(8, dtype="float32").reshape(4, 2)
    run = lambda n: total(n, x)(x, rnp.zeros(2))
    for n in (0, 1, 3):
        np.testing.assert_array_equal(rb.jit(run)(n), x[:n].sum(0) * n * 2)
    np.testing.assert_array_equal(rb.vmap(run)(rnp.array([1, 2]))[1], x[:2].sum(0) * 4)


def test_trees_of_operands_results_and_scratch():
    def kernel(x, pair, nothing, out, sums, *, room):
        assert nothing is None
        room["a"][...] = pair["b"][...]
        out["y"][...] = x[...] + room["a"][...]
        sums[0][...] = pair["c"][...]

    call = pl.pallas_call(
        kernel, ({"y": struct(4)}, [struct(4)]), grid=2,
        in_specs=(pl.BlockSpec((2,), lambda i: (i,)), pl.BlockSpec((2,), lambda i: (i,)), None),
        out_specs=pl.BlockSpec((2,), lambda i: (i,)),
        scratch_shapes={"room": {"a": tpu.VMEM((2,), "float32"), "none": None}},
    )  # fmt: skip
    x = np.arange(4, dtype="float32")
    out, (sums,) = call(x, {"b": x * 10, "c": x * 100}, None)
    np.testing.assert_array_equal(out["y"], x * 11)
    np.testing.assert_array_equal(sums, x * 100)


def test_scratch_lasts_and_the_last_dimension_goes_first():
    def kernel(out, seen, count):
        @pl.when((pl.program_id(0) == 0) & (pl.program_id(1) == 0))
        def _():
            count[0] = 0

        out[0, 0] = count[0]
        count[0] += 1

    call = pl.pallas_call(
        kernel, struct(2, 3, dtype="int32"), grid=(2, 3), out_specs=pl.BlockSpec((1, 1), lambda i, j: (i, j)),
        scratch_shapes=[tpu.SMEM((1,), "int32"), tpu.VMEM((1,), "int32")],
    )  # fmt: skip
    np.testing.assert_array_equal(call(), [[0, 1, 2], [3, 4, 5]])


def test_results_that_share_memory_with_operands():
    def kernel(x, out):
        out[0] += 1

    x = np.arange(4, dtype="float32")
    call = pl.pallas_call(kernel, struct(4), input_output_aliases={0: 0})
    np.testing.assert_array_equal(call(x), [1, 1, 2, 3])


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_what_no_program_writes_is_nan_where_that_is_asked_for():
    def kernel(out, numbers):
        out[0] = 1.0

    shapes = struct(3), struct(2, dtype="int16")
    with rb.enable_checks(False):
        out, numbers = pl.pallas_call(kernel, shapes)()
    assert out.tolist() == [1, 0, 0] and numbers.tolist() == [0, 0]
    with pl.enable_poison_buffers():
        out, numbers = pl.pallas_call(kernel, shapes)()
    np.testing.assert_array_equal(out, [1, np.nan, np.nan])
    assert numbers.tolist() == [-(2**15)] * 2
    with rb.config.override(pallas_poison_buffers=True):
        assert np.isnan(pl.pallas_call(kernel, shapes)()[0][1])
    with rb.enable_checks(True):
        np.testing.assert_array_equal(pl.pallas_call(kernel, shapes)()[0], [1, np.nan, np.nan])


def test_loops_and_branches_write():
    def kernel(x, out):
        @pl.loop(0, 6, step=2)
        def _(i):
            out[i] = x[i] + 1

        @pl.loop(x[1], 4, step=2)
        def _(i):
            out[i] = -x[i]

        @pl.when(x[0] == 0)
        def _():
            out[5] = 50

        @pl.when(False)
        def _():
            raise AssertionError

        @pl.loop(0, 3, init_carry=7)
        def last(i, carry):
            return carry + i

        out[4] = lax.cond(x[1] > 0, lambda: last, lambda: 0)

    x = rnp.arange(6)
    out = pl.pallas_call(kernel, struct(6, dtype="int32"))(x)
    assert out.tolist() == [1, -1, 3, -3, 10, 50]


BLOCK = lambda *shape: pl.BlockSpec(shape, lambda *ids: ids[: len(shape)])
WRONG = {
    "a block of too few dimensions": (
        {"grid": 2, "in_specs": [BLOCK(2)]}, ValueError, r"operand 0: block_shape \(2,\) has 1 dimensions"),
    "a map with too few results": (
        {"grid": 2, "in_specs": [pl.BlockSpec((2, 4), lambda i: (i,))]}, ValueError,
        "index_map returned 1 indices for a block of 2 dimensions"),
    "beyond the array": (
        {"grid": 3, "in_specs": [pl.BlockSpec((2, 4), lambda i: (i, 0))]}, ValueError,
        r"operand 0: index_map gives block 2 along dimension 0 to program \(2,\); blocks from 0 to 1"),
    "before the array": (
        {"grid": 3, "in_specs": [pl.BlockSpec((2, 4), lambda i: (i - 1, 0))]}, ValueError, "gives block -1"),
    "an element beyond": (
        {"grid": 4, "in_specs": [pl.BlockSpec((pl.Element(2), 4), lambda i: (i, 0))]}, ValueError,
        "gives element 3 along dimension 0"),
    "two programs at once write one block": (
        {"grid": (2, 2), "out_specs": pl.BlockSpec((2, 4), lambda i, j: (i, 0)),
         "compiler_params": tpu.CompilerParams(dimension_semantics=("parallel", "parallel"))}, ValueError,
        r"result 0: programs \(0, 0\) and \(0, 1\) write one block, and dimension 1 of the"),
    "semantics of another grid": (
        {"grid": 2, "compiler_params": tpu.CompilerParams(dimension_semantics=("parallel", "parallel"))},
        ValueError, "dimension_semantics has 2 entries, the grid 1 dimensions"),
    "a spec for nothing": ({"in_specs": [BLOCK(4, 4)] * 2}, ValueError, "in_specs has 2 entries"),
    "a spec of something else": ({"in_specs": ["all"]}, ValueError, r"in_specs\[0\] is 'all'"),
    "an alias of nothing": ({"input_output_aliases": {1: 0}}, ValueError, "input_output_aliases has 1: 0"),
    "a grid of floats": ({"grid": (1.5,)}, TypeError, r"grid must be .* got \(1.5,\)"),
    "a size of zero": ({"in_specs": [BLOCK(0, 4)]}, ValueError, "block_shape has the size 0"),
    "scratch that is none": ({"scratch_shapes": ["f32"]}, TypeError, "memory is asked for by 'f32'"),
    "a spec beside a grid_spec": (
        {"grid_spec": pl.GridSpec(2), "grid": 2}, ValueError, "grid_spec together with grid"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be(name):
    options, error, said = WRONG[name]
    with pytest.raises(error, match=said):
        pl.pallas_call(nothing, struct(4, 4), **options)(np.zeros((4, 4), "float32"))


def test_arrays_from_outside_are_operands():
    outside, number = rnp.arange(4.0), rnp.float32(2.0)

    def scaled(x):
        def kernel(out):
            out[...] = outside[pl.program_id(0)] * number * x + rnp.arange(2.0)

        return pl.pallas_call(
            kernel, struct(4, 2), grid=4, out_specs=pl.BlockSpec((None, 2), lambda i: (i, 0))
        )()  # fmt: skip

    np.testing.assert_array_equal(rb.jit(scaled)(3.0), [[6 * i, 6 * i + 1] for i in range(4)])
    assert float(rb.grad(lambda x: scaled(x).sum())(3.0)) == 24
    call = rb.make_jaxpr(scaled)(3.0).eqns[-1].params["call"]
    assert [b.array.shape for b in call.ins] == [(4,), (), (2,)] and not call.kernel.constvars


def test_kernels_return_nothing_and_index_maps_use_no_arrays():
    rows = rnp.arange(4)
    spec = pl.BlockSpec((1,), lambda i: (rows[i],))
    with pytest.raises(ValueError, match=r"result 0: its index_map uses an array of type i32\[4\]"):
        pl.pallas_call(lambda out: None, struct(4), grid=4, out_specs=spec)()
    with pytest.raises(TypeError, match="returns int 3"):
        pl.pallas_call(lambda out: 3, struct())()
    with pytest.raises(ValueError, match=r"program_id\(0\) outside a kernel"):
        pl.program_id(0)


def test_operands_in_the_large_memory_are_read_only():
    whole = pl.BlockSpec(memory_space=pl.ANY)

    def kernel(x, out):
        x[0] = 1.0

    with pytest.raises(ValueError, match="writes to operand 0"):
        pl.pallas_call(kernel, struct(4), in_specs=[whole], out_specs=whole)(np.zeros(4, "float32"))


NUMBERS = ["bfloat16", "float16", "float8_e4m3fn", "int4", "int8", "uint8", "bool", "complex64"]


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_steps_between_computed_bounds(dtype):
    def kernel(x, out):
        @pl.loop(x[1], x[6], step=2)
        def _(i):
            out[i] = -x[i]

    with rb.config.override(enable_x64=True):
        out = pl.pallas_call(kernel, struct(7, dtype=dtype))(np.arange(7, dtype=dtype))
    assert out[1::2].tolist() == [-1, -3, -5]


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("dtype", NUMBERS)
def test_number_formats(dtype):
    x = rnp.asarray(np.arange(20).reshape(5, 4) % 2).astype(dtype)
    block = pl.BlockSpec((2, 4), lambda i: (i, 0))
    call = pl.pallas_call(copy, rb.typeof(x), grid=3, in_specs=[block], out_specs=block)
    with pl.enable_poison_buffers():
        assert call(x).tolist() == x.tolist() and call(x).dtype == x.dtype
        left = pl.pallas_call(nothing, rb.typeof(x))(x).astype("complex64")[0, 0]
    assert np.isnan(left) if x.dtype.name[:2] in ("bf", "fl", "co") else left.real in (-8, -128, 0)


def test_a_grid_of_nothing():
    block = pl.BlockSpec((1, 4), lambda i: (i, 0))
    call = pl.pallas_call(copy, struct(0, 4), grid=0, in_specs=[block], out_specs=block)
    assert call(np.zeros((0, 4), "float32")).shape == (0, 4)


def test_the_program_is_printed_where_that_is_asked_for(capsys):
    pl.pallas_call(copy, struct(4), debug=True)(np.zeros(4, "float32"))
    assert "kernel copy(grid=()):\n{ lambda" in capsys.readouterr().out
