"""Ragged and scaled products against loops over groups."""

import re

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.testing import checks
from rabbet.testing.draws import device_array, some
from rabbet.testing.table import Row

RNG = np.random.default_rng(0)
SIZES = np.array([2, 0, 1, 2], np.int32)


def drawn(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def close(got, wanted):
    np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def rows_by_group(lhs, rhs, sizes=SIZES, offset=0):
    out, at = np.zeros((lhs.shape[0], rhs.shape[2]), lhs.dtype), 0
    for i, n in enumerate(sizes):
        if 0 <= i - offset < len(rhs):
            out[at : at + n] = lhs[at : at + n] @ rhs[i - offset]
        at += n
    return out


def test_a_matrix_per_group():
    lhs, rhs = drawn(6, 3), drawn(4, 3, 2)
    close(lax.ragged_dot(lhs, rhs, SIZES), rows_by_group(lhs, rhs))
    for offset in (1, np.array([1], np.int32)):
        got = lax.ragged_dot(lhs, rhs[:2], SIZES, group_offset=offset)
        close(got, rows_by_group(lhs, rhs[:2], offset=1))


def test_a_matrix_per_group_in_stacks():
    lhs, rhs = drawn(5, 2, 7, 4), drawn(3, 4, 2, 6)
    sizes = RNG.integers(0, 3, (2, 5, 3)).astype(np.int32)
    numbers = lax.RaggedDotDimensionNumbers((((3,), (1,)), ((1,), (2,))), (2,), (0,))
    got = lax.ragged_dot_general(lhs, rhs, sizes, numbers)
    for b in range(2):
        for x in range(5):
            close(got[b, x], rows_by_group(lhs[x, b], rhs[:, :, b], sizes[b, x]))


def test_a_sum_per_group():
    lhs, rhs = drawn(6, 3), drawn(6, 2)
    numbers = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
    ends = np.cumsum(SIZES)
    wanted = [lhs[e - n : e].T @ rhs[e - n : e] for e, n in zip(ends, SIZES, strict=True)]
    close(lax.ragged_dot_general(lhs, rhs, SIZES, numbers), wanted)


def test_ragged_batches_are_products():
    lhs, rhs = drawn(6, 2, 3), drawn(6, 3, 4)
    numbers = lax.RaggedDotDimensionNumbers((((2,), (1,)), ((0,), (0,))), (0,), ())
    close(lax.ragged_dot_general(lhs, rhs, SIZES, numbers), lhs @ rhs)


class Product:
    """``ragged_dot`` in the place of a primitive, for the laws."""

    name, multiple_results = "ragged_dot", True

    def op(self):
        return lambda lhs, rhs: [lax.ragged_dot(lhs, rhs, SIZES)]


def test_laws():
    row = Row(Product(), rows_by_group, (some(6, 3), some(4, 3, 2)), ("float32",))
    checks.check_laws(row, ["batching", "compiled"])
    checks.check_laws(row, ["forward", "reverse", "second_order"], dtype="float64")


def test_scaled():
    lhs, rhs = drawn(2, 4, 8), drawn(2, 8, 6)
    left, right = drawn(2, 4, 2), drawn(2, 4, 6)
    got = lax.scaled_dot(lhs, rhs, lhs_scale=left, rhs_scale=right, preferred_element_type=np.float32)
    close(got, (lhs * left.repeat(4, 2)) @ (rhs * right.repeat(2, 1)))
    close(lax.scaled_dot(lhs[0], rhs[0], preferred_element_type=np.float32), lhs[0] @ rhs[0])
    with pytest.raises(TypeError, match=r"lhs_scale f32\[2,4,3\] must have the rank of lhs"):
        lax.scaled_dot(lhs, rhs, lhs_scale=drawn(2, 4, 3), preferred_element_type=np.float32)


def test_messages():
    lhs, rhs = device_array(drawn(6, 3)), device_array(drawn(4, 3, 2))
    with pytest.raises(TypeError, match="group_sizes must be integers, got f32"):
        lax.ragged_dot(lhs, rhs, drawn(4))
    with pytest.raises(TypeError, match="rhs has 4 matrices, group_sizes has 2 groups"):
        lax.ragged_dot(lhs, rhs, SIZES[:2])
    with pytest.raises(TypeError, match="must have the shape"):
        lax.ragged_dot(lhs, rhs, np.ones((2, 4), np.int32))
    numbers = lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0, 1), (0,))
    with pytest.raises(ValueError, match="lhs_ragged_dimensions must name one dimension"):
        lax.ragged_dot_general(lhs, rhs, SIZES, numbers)
    numbers = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), (0,))
    with pytest.raises(ValueError, match="rhs_group_dimensions must be empty"):
        lax.ragged_dot_general(lhs, device_array(drawn(6, 2)), SIZES, numbers)


LONG = np.array([30, 0, 45, 1, 20], np.int32)  # groups of several tiles, one of none, and rows in no group


def test_groups_of_several_tiles():
    lhs, rhs = drawn(100, 3), drawn(5, 3, 2)
    close(lax.ragged_dot(lhs, rhs, LONG), rows_by_group(lhs, rhs, LONG))
    numbers = lax.RaggedDotDimensionNumbers((((0,), (0,)), ((), ())), (0,), ())
    ends, other = np.cumsum(LONG), drawn(100, 2)
    wanted = [lhs[e - n : e].T @ other[e - n : e] for e, n in zip(ends, LONG, strict=True)]
    close(lax.ragged_dot_general(lhs, other, LONG, numbers), wanted)


@pytest.mark.needs("grad")
def test_derivatives_of_groups_of_several_tiles():
    lhs, rhs = drawn(100, 3), drawn(5, 3, 2)
    member = np.repeat(np.arange(6), [*LONG, 4])
    each = np.concatenate([rhs, np.zeros((1, 3, 2), np.float32)])
    weight = drawn(100, 2)
    loss = lambda x, w: (lax.ragged_dot(x, w, LONG) * weight).sum()
    to_lhs, to_rhs = rb.grad(loss, (0, 1))(lhs, rhs)
    close(to_lhs, np.einsum("rn,rkn->rk", weight, each[member]))
    close(to_rhs, [np.einsum("rk,rn->kn", lhs[member == i], weight[member == i]) for i in range(5)])


@pytest.mark.needs("grad", "jit")
def test_the_arithmetic_does_not_grow_with_the_groups():
    """No product in the program, or in its derivative, has a dimension for the groups."""
    x, w, sizes = [
        rb.ShapeDtypeStruct(s, d) for s, d in (((1024, 64), "f4"), ((48, 64, 32), "f4"), ((48,), "i4"))
    ]
    loss = lambda x, w, sizes: lax.ragged_dot(x, w, sizes).sum()
    for f in (loss, rb.grad(loss, (0, 1))):
        text = rb.jit(f).trace(x, w, sizes).lower().as_text()
        products = [line for line in text.splitlines() if "dot_general" in line]
        assert products
        assert not any("48x" in line or "x48" in line or "1024" in line for line in products)


@pytest.mark.needs("vmap")
def test_mapped_products():
    lhs, rhs = drawn(3, 40, 3), drawn(2, 3, 2)
    sizes = np.array([[20, 10], [0, 40], [15, 15]], np.int32)
    got = rb.vmap(lax.ragged_dot, (0, None, 0))(lhs, rhs, sizes)
    close(got, [rows_by_group(x, rhs, s) for x, s in zip(lhs, sizes, strict=True)])


def tpu_text(f, *types):
    return rb.jit(f).trace(*types).lower(platforms=("tpu",)).as_text()


TYPES = [rb.ShapeDtypeStruct(s, d) for s, d in (((7, 3), "f4"), ((4, 3, 2), "f4"), ((4,), "i4"))]


@pytest.mark.needs("jit", "grad")
def test_the_operation_of_tpus():
    """One for each product: by rows of groups, and for matrices a sum over the rows of each group."""
    loss = lambda *arrays: (lax.ragged_dot(*arrays, precision="highest") ** 2).sum()
    text = tpu_text(rb.grad(loss, (0, 1)), *TYPES)
    calls = [line for line in text.splitlines() if '"chlo.ragged_dot"' in line]
    types = [re.findall(r"tensor<(\w+)>", line) for line in calls]
    assert sorted(types) == sorted(
        [
            ["7x3xf32", "4x3x2xf32", "4xi32", "7x2xf32"],
            ["7x2xf32", "4x2x3xf32", "4xi32", "7x3xf32"],
            ["7x3xf32", "7x2xf32", "4xi32", "4x3x2xf32"],
        ]
    )
    for line, (_, _, _, out) in zip(calls, types, strict=True):
        sums = out.startswith("4x")
        axis = 0 if sums else 1
        contracted = f"lhs_contracting_dimensions = [{axis}], rhs_contracting_dimensions = [{axis}]"
        assert f"{contracted}, lhs_ragged_dimensions = [0]" in line
        assert f"rhs_group_dimensions = {'[]' if sums else '[0]'}" in line
        assert line.count("#chlo<precision HIGHEST>") == 2
    cpu = rb.jit(lax.ragged_dot).trace(*TYPES).lower(platforms=("cpu",)).as_text()
    assert "chlo.ragged_dot" not in cpu  # XLA has none for CPUs


@pytest.mark.needs("jit")
def test_what_is_still_a_loop_on_tpus():
    halves = [rb.ShapeDtypeStruct(t.shape, "float16") for t in TYPES[:2]]
    assert "chlo.ragged_dot" not in tpu_text(lambda *xs: lax.ragged_dot(*xs, group_offset=0), *TYPES)
    assert "chlo.ragged_dot" not in tpu_text(lax.ragged_dot, *halves, TYPES[2])
