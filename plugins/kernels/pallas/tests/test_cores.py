"""Kernels over the cores of a device."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.experimental import pallas as pl
from rabbet.experimental.pallas import tpu

MESH = tpu.TensorCoreMesh("core", 2)
STRUCT = rb.ShapeDtypeStruct((2, 3), "float32")


def test_each_core_knows_its_number():
    @pl.kernel(out_type=(STRUCT, STRUCT), mesh=MESH, scratch_types=[tpu.VMEM((3,), "float32")])
    def rows(x, doubled, counted, room):
        i = lax.axis_index("core")
        room[...] = x[i] * 2
        doubled[i] = room[...]

        @pl.loop(0, 3)
        def _(j):
            counted[i, j] = (j + 10 * lax.axis_index("core")).astype("float32")

    x = np.arange(6, dtype="float32").reshape(2, 3)
    for call in (rows, rb.jit(rows)):
        doubled, counted = call(x)
        np.testing.assert_array_equal(doubled, x * 2)
        np.testing.assert_array_equal(counted, [[0, 1, 2], [10, 11, 12]])
    np.testing.assert_array_equal(rb.grad(lambda x: rows(x)[0].sum())(x), np.full_like(x, 2))


def test_over_references():
    def step(refs):
        @pl.core_map(MESH)
        def _():
            i = lax.axis_index("core")
            refs[1][i] = refs[0][i] + 1

    out = pl.run_state(step)([rnp.arange(3), rnp.zeros(3, "int32")])
    assert [x.tolist() for x in out] == [[0, 1, 2], [1, 2, 0]]


def test_cores_do_not_talk():
    def body(x, out):
        out[...] = lax.psum(x[...], "core")

    with pytest.raises(NotImplementedError, match="psum between cores"):
        pl.kernel(body, out_type=STRUCT, mesh=MESH)(np.zeros((2, 3), "float32"))
    with pytest.raises(NotImplementedError, match="TensorCoreMesh"):
        pl.kernel(body, out_type=STRUCT, mesh=None)
