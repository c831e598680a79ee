"""Kernels beyond single operations: scratch, prefetch, copies; masks, atomics, arrays of indices."""

import numpy as np
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.experimental import pallas as pl
from rabbet.experimental.pallas import tpu, triton

F32 = rb.ShapeDtypeStruct((8, 128), "float32")


def random(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


# For TPUs


def in_scratch(x, y):
    """A product summed up across the grid in scratch."""
    (m, k), n = x.shape, y.shape[1]

    def kernel(x, y, out, total):
        @pl.when(pl.program_id(2) == 0)
        def _():
            total[...] = rnp.zeros((32, 128), "float32")

        total[...] += lax.dot(x[...], y[...], precision="highest")

        @pl.when(pl.program_id(2) == pl.num_programs(2) - 1)
        def _():
            out[...] = total[...]

    return pl.pallas_call(
        kernel, rb.ShapeDtypeStruct((m, n), "float32"), grid=(m // 32, n // 128, k // 128), name="in_scratch",
        in_specs=[pl.BlockSpec((32, 128), lambda i, j, k: (i, k)), pl.BlockSpec((128, 128), lambda i, j, k:
        (k, j))],
        out_specs=pl.BlockSpec((32, 128), lambda i, j, k: (i, j)), scratch_shapes=[tpu.VMEM((32, 128),
        "float32")],
        compiler_params=tpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
    )(x, y)  # fmt: skip


def prefetched(order, x):
    """Blocks in an order that an array tells."""

    def kernel(order, x, out):
        out[...] = x[...] + order[pl.program_id(0)].astype("float32")

    return pl.pallas_call(
        kernel, rb.ShapeDtypeStruct(x.shape, "float32"), name="prefetched",
        grid_spec=tpu.PrefetchScalarGridSpec(
            1, grid=(x.shape[0] // 8,), in_specs=[pl.BlockSpec((8, 128), lambda i, order: (order[i], 0))],
            out_specs=pl.BlockSpec((8, 128), lambda i, order: (i, 0)),
        ),
    )(order, x)  # fmt: skip


def by_hand(x):
    """Copies to and from an array that stays in its memory."""

    def kernel(x, out, buffer, sem):
        copy = tpu.make_async_copy(x.at[pl.ds(8 * pl.program_id(0), 8)], buffer, sem.at[0])
        copy.start()
        copy.wait()
        buffer[...] = buffer[...] * 2
        tpu.sync_copy(buffer, out.at[pl.ds(8 * pl.program_id(0), 8)])

    return pl.pallas_call(
        kernel, rb.ShapeDtypeStruct(x.shape, "float32"), grid=x.shape[0] // 8, name="by_hand",
        in_specs=[pl.BlockSpec(memory_space=pl.ANY)], out_specs=pl.BlockSpec(memory_space=pl.ANY),
        scratch_shapes=[tpu.VMEM((8, 128), "float32"), tpu.SemaphoreType.DMA((2,))],
    )(x)  # fmt: skip


def pipelined(x, y):
    """A pipeline of blocks within one program."""

    def kernel(x, y, out):
        def body(x, y, out):
            out[...] = x[...] + y[...]

        block = pl.BlockSpec((8, 128), lambda i: (i, 0))
        tpu.emit_pipeline(body, grid=(x.shape[0] // 8,), in_specs=[block, block], out_specs=[block])(
            x, y, out
        )

    far = pl.BlockSpec(memory_space=pl.ANY)
    shape = rb.ShapeDtypeStruct(x.shape, "float32")
    return pl.pallas_call(kernel, shape, in_specs=[far, far], out_specs=far, name="pipelined")(x, y)


def in_smem(scale, x):
    def kernel(scale, x, out, count):
        count[0] = scale[0] + 1.0
        out[...] = x[...] * count[0]

    smem = pl.BlockSpec(memory_space=tpu.SMEM)
    return pl.pallas_call(
        kernel,
        F32,
        in_specs=[smem, pl.BlockSpec()],
        name="in_smem",
        scratch_shapes=[tpu.SMEM((1,), "float32")],
    )(scale, x)


def strided(x):
    def kernel(x, out):
        out[...] = x[pl.ds(1, 8, 2), :] + x[pl.ds(0, 8, 2), :]

    return pl.pallas_call(kernel, F32, name="strided")(x)


def rolled(x):
    def kernel(x, out):
        out[...] = tpu.roll(x[...], 3, 1)

    return pl.pallas_call(kernel, F32, name="rolled")(x)


def scoped(x):
    def kernel(x, out):
        def body(buffer):
            buffer[...] = x[...] + 1
            out[...] = buffer[...] * 2

        pl.run_scoped(body, tpu.VMEM((8, 128), "float32"))

    return pl.pallas_call(kernel, F32, name="scoped")(x)


def looped(x):
    """A loop over rows at a computed place, which writes as well."""

    def kernel(x, out):
        def step(i, total):
            total = total + x[pl.ds(8 * i, 8), :]
            out[pl.ds(pl.multiple_of(8 * i, 8), 8), :] = total
            return total

        lax.fori_loop(0, x.shape[0] // 8, step, rnp.zeros((8, 128), "float32"))

    return pl.pallas_call(kernel, rb.ShapeDtypeStruct(x.shape, "float32"), name="looped")(x)


def first_squeezed(x):
    def kernel(x, out):
        out[...] = x[...] * 2

    spec = pl.BlockSpec((None, 8, x.shape[2]), lambda i, j: (i, j, 0))
    shape = rb.ShapeDtypeStruct(x.shape, "float32")
    return pl.pallas_call(
        kernel,
        shape,
        grid=(x.shape[0], x.shape[1] // 8),
        in_specs=[spec],
        out_specs=spec,
        name="first_squeezed",
    )(x)


def computed_grid(n, x):
    """As many programs as a number says; results of others are as they were."""

    def kernel(x, _, out):
        out[...] = x[...] + pl.num_programs(0).astype("float32")

    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    shape = rb.ShapeDtypeStruct(x.shape, "float32")
    call = lambda n, x: pl.pallas_call(
        kernel, shape, grid=(n,), in_specs=[block, block], out_specs=block, name="computed_grid",
        input_output_aliases={1: 0},
    )(x, rnp.zeros(x.shape, "float32"))  # fmt: skip
    return rb.jit(call)(n, x)


# For GPUs


def masked(x):
    """Rows whose length is not a power of two, under a mask."""
    rows, columns = x.shape

    def kernel(x, out):
        columns_of = rnp.arange(128)
        inside = columns_of < columns
        row = pl.program_id(0)
        part = triton.load(x.at[row, pl.ds(0, 128)], mask=inside, other=-np.inf)
        e = rnp.exp(part - rnp.max(part))
        triton.store(out.at[row, pl.ds(0, 128)], e / rnp.sum(e), mask=inside)

    return pl.pallas_call(kernel, rb.ShapeDtypeStruct(x.shape, "float32"), grid=rows, name="masked")(x)


def gathered(x, places):
    def kernel(x, places, out):
        at = places[...]
        out[...] = x[at] + x[at, rnp.arange(16)][:, None]

    shape = rb.ShapeDtypeStruct((places.shape[0], x.shape[1]), "float32")
    return pl.pallas_call(kernel, shape, name="gathered")(x, places)


def added(places, x):
    """Sums at places, by programs that meet there."""

    def kernel(places, x, _, out):
        triton.atomic_add(out, (places[...],), x[...])

    block = pl.BlockSpec((16,), lambda i: (i,))
    return pl.pallas_call(
        kernel, rb.ShapeDtypeStruct((32,), "float32"), grid=places.shape[0] // 16, name="added",
        in_specs=[block, block, pl.BlockSpec()], input_output_aliases={2: 0},
    )(places, x, rnp.zeros(32, "float32"))  # fmt: skip


def in_halves(x):
    """Parts of values put together."""

    def kernel(x, out):
        value = x[...]
        out[...] = lax.concatenate([value[:, 64:], value[:, :64]], 1)

    return pl.pallas_call(kernel, F32, name="in_halves")(x)


def summed_up(x):
    def kernel(x, out, places):
        out[...] = rnp.cumsum(x[...], axis=1) + rnp.cumsum(x[...], axis=0)
        places[...] = rnp.argmax(x[...], axis=1)

    out, places = pl.pallas_call(kernel, [F32, rb.ShapeDtypeStruct((8,), "int32")], name="summed_up")(x)
    return out + places[:, None]


def largest(x):
    def kernel(x, out):
        place = rnp.argmax(x[...], axis=1, keepdims=True)
        out[...] = x[...] * 0 + place.astype("float32")

    return pl.pallas_call(kernel, F32, name="largest")(x)


def many_dimensions(x):
    """A grid of four dimensions."""

    def kernel(x, out):
        out[...] = x[...] + pl.program_id(1).astype("float32")

    spec = pl.BlockSpec((None, None, 16, 16), lambda a, b, c, d: (a, b, c, d))
    a, b, c, d = x.shape
    return pl.pallas_call(
        kernel, rb.ShapeDtypeStruct(x.shape, "float32"), grid=(a, b, c // 16, d // 16), in_specs=[spec],
        out_specs=spec, name="many_dimensions",
    )(x)  # fmt: skip


def flags(x):
    """Arrays of truth values in memory."""

    def kernel(x, positive):
        positive[...] = x[...] > 0

    return pl.pallas_call(kernel, rb.ShapeDtypeStruct(x.shape, "bool"), name="flags")(x)


def read_flags(flags, some, x):
    """Truth values that are read: of a block, of scratch, and one by one."""

    def kernel(some, flags, x, out, kept):
        kept[...] = flags[...] ^ (x[...] > 0)
        out[...] = rnp.where(kept[...], x[...], -1.0)

        @pl.when(some[pl.program_id(0)])
        def _():
            out[...] = out[...] + 10

    block = pl.BlockSpec((8, 128), lambda i, *_: (i, 0))
    spec = tpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1, grid=2, in_specs=[block, block], out_specs=block,
        scratch_shapes=[tpu.VMEM((8, 128), "bool")],
    )  # fmt: skip
    struct = rb.ShapeDtypeStruct(x.shape, x.dtype)
    return pl.pallas_call(kernel, struct, grid_spec=spec, name="read_flags")(some, flags, x)


def halved_flags(flags):
    """A block of truth values in, and one out."""

    def kernel(flags, out):
        out[...] = ~flags[...]

    block = pl.BlockSpec((8, 128), lambda i: (i, 0))
    struct = rb.ShapeDtypeStruct(flags.shape, "bool")
    return pl.pallas_call(
        kernel, struct, grid=2, in_specs=[block], out_specs=block, name="halved_flags"
    )(flags)  # fmt: skip


FLAGS = random(16, 128) > 0
ORDER = np.array([2, 0, 1, 1], "int32")
WITH_NAN = np.where(np.arange(128) == 7, np.nan, random(8, 128)).astype("float32")

# name, function, arguments, targets
KERNELS = [
    ("in scratch", in_scratch, (random(64, 256), random(256, 128)), ("tpu",)),
    ("prefetched", prefetched, (ORDER, random(32, 128)), ("triton", "tpu")),
    ("by hand", by_hand, (random(24, 128),), ("tpu",)),
    ("pipelined", pipelined, (random(32, 128), random(32, 128, seed=1)), ("tpu",)),
    ("in smem", in_smem, (random(1), random(8, 128)), ("tpu",)),
    ("strided", strided, (random(16, 128),), ("triton", "tpu")),
    ("rolled", rolled, (random(8, 128),), ("tpu",)),
    ("scoped", scoped, (random(8, 128),), ("tpu",)),
    ("computed grid", computed_grid, (np.int32(3), random(32, 128)), ("tpu",)),
    ("looped", looped, (random(32, 128),), ("triton", "tpu")),
    ("first squeezed", first_squeezed, (random(3, 16, 128),), ("triton", "tpu")),
    ("masked", masked, (random(3, 100),), ("triton",)),
    ("gathered", gathered, (random(32, 16), np.arange(16, dtype="int32") * 3 % 32), ("triton",)),
    ("added", added, (np.arange(64, dtype="int32") * 7 % 32, random(64)), ("triton",)),
    ("in halves", in_halves, (random(8, 128),), ("triton", "tpu")),
    ("summed up", summed_up, (random(8, 128),), ("triton",)),
    ("largest", largest, (WITH_NAN,), ("triton", "tpu")),
    ("many dimensions", many_dimensions, (random(2, 3, 32, 16),), ("triton",)),
    ("flags", flags, (random(8, 128),), ("triton", "tpu")),
    ("flags that are read", read_flags, (FLAGS, np.array([1, 0], bool), random(16, 128, seed=1)), ("tpu",)),
    ("flags in blocks", halved_flags, (FLAGS,), ("triton", "tpu")),
]
