"""Memory within kernels: scopes, copies, semaphores, pipelines, state."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental import pallas as pl
from rabbet.experimental.pallas import tpu

WHOLE = pl.BlockSpec(memory_space=pl.ANY)
X = np.arange(24, dtype="float32").reshape(4, 6)
STRUCT = rb.ShapeDtypeStruct((4, 6), "float32")


def test_copies_between_parts():
    def kernel(x, out, buffer, sems):
        @pl.loop(0, 2)
        def _(i):
            into = tpu.make_async_copy(x.at[pl.ds(2 * i, 2)], buffer.at[i], sems.at[i])
            into.start()
            into.wait()

        back = tpu.async_copy(buffer.at[1], out.at[pl.ds(0, 2)], sems.at[0])
        tpu.sync_copy(buffer.at[0], out.at[2:])
        back.wait()

    call = pl.pallas_call(
        kernel, STRUCT, in_specs=[WHOLE], out_specs=WHOLE,
        scratch_shapes=[tpu.VMEM((2, 2, 6), "float32"), tpu.SemaphoreType.DMA((2,))],
    )  # fmt: skip
    np.testing.assert_array_equal(call(X), X[[2, 3, 0, 1]])
    np.testing.assert_array_equal(rb.grad(lambda x: (call(x)[0] * X[0]).sum())(X)[2], X[0])


def test_semaphores_count():
    def kernel(out, sem, dma):
        pl.semaphore_signal(sem)
        pl.semaphore_signal(sem, 4)
        out[0] = pl.semaphore_read(sem)
        pl.semaphore_wait(sem, 3)
        out[1] = pl.semaphore_read(sem)
        pl.semaphore_wait(sem, 2, decrement=False)
        out[2] = pl.semaphore_read(sem)
        copy = tpu.async_copy(out.at[0], out.at[3], dma)
        out[4] = pl.semaphore_read(dma)
        copy.wait()
        out[5] = pl.semaphore_read(dma)

    scratch = [tpu.SemaphoreType.REGULAR, tpu.SemaphoreType.DMA]
    out = pl.pallas_call(kernel, rb.ShapeDtypeStruct((6,), "int32"), scratch_shapes=scratch)()
    assert out.tolist() == [5, 2, 2, 5, 4, 0]


def test_memory_for_a_while():
    def kernel(x, out):
        def body(a, *, pair):
            a[...] = x[...] * 2
            pair[0][...] = a[...] + 1
            return pair[0][0, 0]

        first = pl.run_scoped(body, tpu.VMEM((4, 6), "float32"), pair=(tpu.VMEM((4, 6), "float32"), None))
        out[...] = x[...] + first

        @pl.with_scoped(tpu.SMEM((1,), "int32"))
        def last(number, room):
            room[0] = number
            out[3, 5] = room[0].astype("float32")

        last(7)

    wanted = X + 1
    wanted[3, 5] = 7
    np.testing.assert_array_equal(pl.pallas_call(kernel, STRUCT)(X), wanted)


def test_a_pipeline_within_a_kernel():
    def kernel(x, y, out, count):
        def body(x, y, out, count):
            @pl.when(pl.program_id(1) == 0)
            def _():
                out[...] = rnp.zeros((2, 6))

            out[...] += x[...] * y[...]
            count[0] += pl.num_programs(1)

        count[0] = 0
        rows = pl.BlockSpec((2, 6), lambda i, k: (i, 0))
        tpu.emit_pipeline(
            body, grid=(2, 3),
            in_specs=[rows, pl.BlockSpec((None, 6), lambda i, k: (k, 0))], out_specs=rows,
        )(x, y, out, scratches=(count,))  # fmt: skip

    whole = pl.BlockSpec()
    out, count = pl.pallas_call(
        kernel, (STRUCT, rb.ShapeDtypeStruct((1,), "int32")), in_specs=[WHOLE] * 2, out_specs=(WHOLE, whole)
    )(X, X[:3])  # fmt: skip
    np.testing.assert_allclose(out, X * X[:3].sum(0))
    assert count.tolist() == [18]


def test_a_pipeline_with_a_computed_grid():
    def kernel(n, x, out):
        def body(at, x, out):
            out[...] = x[...] + at[0]

        row = pl.BlockSpec((1, 6), lambda i: (i, 0))
        tpu.emit_pipeline(body, grid=(n[0],), in_specs=[row], out_specs=[row], _explicit_indices=True)(x, out)

    call = pl.pallas_call(
        kernel, STRUCT, input_output_aliases={1: 0},
        grid_spec=tpu.PrefetchScalarGridSpec(1, (), [WHOLE], WHOLE),
    )  # fmt: skip
    np.testing.assert_array_equal(call(np.int32([2]), X), X + np.array([[0], [1], [0], [0]]))


def test_state():
    def step(refs):
        a, b = refs["a"], refs["b"]
        a[...] = a[...] + b[0]
        b[0] = a[1]

    out = pl.run_state(step)({"a": rnp.arange(2), "b": rnp.array([10])})
    assert out["a"].tolist() == [10, 11] and out["b"].tolist() == [11]
    gradient = rb.grad(lambda x: pl.run_state(step)({"a": x, "b": x})["b"][0])(rnp.ones(2))
    assert gradient.tolist() == [1, 1]


WRONG = {
    "other shapes": (lambda x, out, sem: tpu.async_copy(x.at[0], out, sem), TypeError, "parts of one shape"),
    "no semaphore": (lambda x, out, sem: tpu.async_copy(x, out), ValueError, "needs a semaphore"),
    "several semaphores": (lambda x, out, sem: tpu.async_copy(x, out, sem), TypeError, "one semaphore"),
    "another device": (
        lambda x, out, sem: pl.semaphore_signal(sem.at[0], device_id=1), NotImplementedError,
        "another device"),
    "a copy to another device": (
        lambda x, out, sem: tpu.make_async_remote_copy(x, out, sem, sem, 1), NotImplementedError, "ppermute"),
    "a pipeline whose blocks do not fit": (
        lambda x, out, sem: tpu.emit_pipeline(
            lambda x, out: None, grid=(2,), in_specs=[pl.BlockSpec((3, 6), lambda i: (i, 0))],
            out_specs=[pl.BlockSpec((2, 6), lambda i: (i, 0))])(x, out), ValueError, "blocks of 3 along a"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be(name):
    kernel, error, said = WRONG[name]
    with pytest.raises(error, match=said):
        pl.pallas_call(
            lambda x, out, sem: (kernel(x, out, sem), None)[1], STRUCT, in_specs=[WHOLE], out_specs=WHOLE,
            scratch_shapes=[tpu.SemaphoreType.DMA((2,))],
        )(X)  # fmt: skip
