"""What a target cannot write is refused by name, with the user's line and what to write instead."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.errors import NotOfferedError
from rabbet.experimental import pallas as pl
from rabbet.experimental.pallas import tpu, triton

pytestmark = pytest.mark.needs("jit", "vmap", "grad", "nn", "numpy")
F32 = rb.ShapeDtypeStruct((8, 128), "float32")
X = np.ones((8, 128), "float32")


def lowered(platform, kernel, *arguments, out=F32, **more):
    call = pl.pallas_call(kernel, out, name="k", **more)
    return rb.jit(lambda *xs: call(*xs)).trace(*arguments).lower(platforms=(platform,))


def refused(platform, kernel, *arguments, **more):
    with pytest.raises(NotOfferedError) as caught:
        lowered(platform, kernel, *arguments, **more)
    said = str(caught.value)
    assert "kernel 'k' cannot be written for" in said
    assert "to fix:" in said
    return said


def copy(x, out):
    out[...] = x[...]


def test_scratch_on_a_gpu():
    said = refused("cuda", lambda x, o, s: copy(x, o), X, scratch_shapes=[tpu.VMEM((8, 128), "float32")])
    assert "scratch that outlives a program" in said and "fori_loop" in said


def test_sums_across_the_grid_on_a_gpu():
    def kernel(x, out):
        out[...] += x[...]

    block = pl.BlockSpec((8, 128), lambda i: (0, 0))
    said = refused("cuda", kernel, X, grid=2, in_specs=[block], out_specs=block)
    assert "reads what others wrote" in said and "no order" in said
    lowered("tpu", kernel, X, grid=2, in_specs=[block], out_specs=block)
    lowered("cuda", kernel, X, grid=1, in_specs=[block], out_specs=block)


def test_a_result_that_programs_overwrite_on_a_gpu():
    block = pl.BlockSpec((8, 128), lambda i: (0, 0))
    assert "overwrites" in refused("cuda", copy, X, grid=2, in_specs=[block], out_specs=block)


def test_a_part_for_each_program_of_a_whole_result_is_no_sum():
    def kernel(x, out):
        out[pl.program_id(0)] = x[pl.program_id(0)]

    lowered("cuda", kernel, X, grid=8)


def test_sizes_that_are_no_power_of_two_on_a_gpu():
    y = np.ones((6, 128), "float32")
    said = refused("cuda", copy, y, out=rb.ShapeDtypeStruct((6, 128), "float32"))
    assert "powers of two" in said and "(6,)" in said and "test_refusals.py" in said


def test_small_products_on_a_gpu():
    def kernel(x, out):
        out[...] = lax.dot(x[...], x[...].T)

    assert "less than 16" in refused("cuda", kernel, X, out=rb.ShapeDtypeStruct((8, 8), "float32"))


def test_a_grid_of_a_computed_size_on_a_gpu():
    def f(n, x):
        block = pl.BlockSpec((8, 128), lambda i: (i, 0))
        return pl.pallas_call(copy, F32, grid=(n,), in_specs=[block], out_specs=block, name="k")(x)

    with pytest.raises(NotOfferedError, match="a grid of a computed size"):
        rb.jit(f).trace(np.int32(1), X).lower(platforms=("cuda",))


def test_indices_from_an_array_on_a_tpu():
    def kernel(x, places, out):
        out[...] = x[places[...]]

    said = refused("tpu", kernel, X, np.arange(8, dtype="int32"))
    assert "at an array of indices" in said


def test_reading_what_stays_in_its_memory_on_a_tpu():
    said = refused("tpu", copy, X, in_specs=[pl.BlockSpec(memory_space=pl.ANY)])
    assert "make_async_copy" in said


def test_a_number_in_vmem_on_a_tpu():
    def kernel(x, out):
        out[0, 0] = 1.0

    assert "a store of a number to VMEM" in refused("tpu", kernel, X)


def test_parameters_that_would_change_nothing():
    params = tpu.CompilerParams(opt_level=3)
    assert "opt_level=3" in refused("tpu", copy, X, compiler_params=params)


def test_an_operation_that_a_target_does_not_know_names_it():
    def kernel(x, out):
        out[...] = lax.cumsum(x[...], axis=0)

    def sorted_rows(x, out):
        out[...] = rnp.sort(x[...], axis=0)

    assert "sort" in refused("cuda", sorted_rows, X)
    lowered("cuda", kernel, X)


def test_the_user_s_line_stands_in_the_message():
    def kernel(x, out):
        out[...] = rnp.sort(x[...], axis=0)  # this line

    assert "test_refusals.py" in refused("cuda", kernel, X).partition("where:")[2]


def test_parameters_reach_the_call():
    params = triton.CompilerParams(num_warps=8, num_stages=2)
    text = lowered("cuda", copy, X, compiler_params=params).as_text()
    assert "num_warps = 8" in text and "num_stages = 2" in text
    text = lowered("tpu", copy, X, compiler_params=tpu.CompilerParams(vmem_limit_bytes=12345)).as_text()
    assert "12345" in text


def test_interpret_writes_no_call():
    text = lowered("cuda", copy, X, interpret=True).as_text()
    assert "triton" not in text
