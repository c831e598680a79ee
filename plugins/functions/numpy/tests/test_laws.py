"""Laws of shapes: broadcasting, reshaping, joining and taking apart, for shapes that hypothesis draws."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

pytestmark = pytest.mark.library

few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=3)


def numbers(shape):
    """Different numbers in a shape."""
    return np.arange(1, 1 + int(np.prod(shape)), dtype="f4").reshape(shape)


def equal(x, y):
    x = np.asarray(x)
    assert x.shape == np.shape(y)
    np.testing.assert_array_equal(x, y)


@pytest.mark.forbidden("numpy_rank_promotion")
@few
@given(hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3))
def test_broadcasting(shapes):
    x, y = (numbers(s) for s in shapes.input_shapes)
    equal(rnp.add(x, y), x + y)
    equal(rnp.where(x > y, x, y), np.where(x > y, x, y))
    assert rnp.broadcast_shapes(x.shape, y.shape) == shapes.result_shape


@few
@given(SHAPES, st.data())
def test_transposing_and_moving(shape, data):
    x = numbers(shape)
    order = data.draw(st.permutations(range(x.ndim)))
    equal(rnp.transpose(x, order), x.transpose(order))
    equal(rnp.transpose(rnp.transpose(x, order), np.argsort(order).tolist()), x)
    if x.ndim:
        i, j = (data.draw(st.integers(-x.ndim, x.ndim - 1)) for _ in range(2))
        equal(rnp.moveaxis(x, i, j), np.moveaxis(x, i, j))
        equal(rnp.swapaxes(x, i, j), np.swapaxes(x, i, j))


@few
@given(SHAPES, st.data())
def test_reductions_over_any_axes(shape, data):
    x = numbers(shape)
    axes = tuple(data.draw(st.sets(st.integers(0, x.ndim - 1)))) if x.ndim else ()
    keep = data.draw(st.booleans())
    equal(rnp.sum(x, axes, keepdims=keep), x.sum(axes, keepdims=keep))
    equal(rnp.max(x, axes, keepdims=keep), x.max(axes, keepdims=keep))


@few
@given(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4), st.data())
def test_splitting_and_joining_are_inverse(shape, data):
    x = numbers(shape)
    axis = data.draw(st.integers(0, x.ndim - 1))
    cuts = sorted(data.draw(st.lists(st.integers(0, x.shape[axis]), max_size=3)))
    equal(rnp.concatenate(rnp.split(x, cuts, axis), axis), x)
    equal(rnp.stack(rnp.unstack(x, axis=axis), axis), x)


@few
@given(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4), st.integers(-6, 6), st.data())
def test_rolling_flipping_repeating(shape, shift, data):
    x = numbers(shape)
    axis = data.draw(st.integers(0, x.ndim - 1))
    equal(rnp.roll(x, shift, axis), np.roll(x, shift, axis))
    equal(rnp.roll(rnp.roll(x, shift), -shift), x)
    equal(rnp.flip(rnp.flip(x, axis), axis), x)
    equal(rnp.repeat(x, 2, axis), np.repeat(x, 2, axis))


@few
@given(hnp.array_shapes(min_dims=1, max_dims=3, max_side=4), st.data())
def test_padding(shape, data):
    x = numbers(shape)
    widths = [tuple(data.draw(st.integers(0, 3)) for _ in range(2)) for _ in x.shape]
    mode = data.draw(st.sampled_from(["constant", "edge", "symmetric", "wrap"]))
    equal(rnp.pad(x, widths, mode), np.pad(x, widths, mode))


@few
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=8), st.lists(st.integers(-4, 4), max_size=5))
def test_sorted_places(values, wanted):
    x = np.sort(np.array(values, "f4"))
    v = np.array(wanted, "f4")
    equal(rnp.searchsorted(x, v), np.searchsorted(x, v))
    equal(rnp.argsort(np.array(values)), np.argsort(values, kind="stable"))
    equal(rnp.unique(np.array(values, "i4"), size=len(set(values))), np.unique(values))


@few
@given(
    st.sampled_from(
        [
            "ij,jk->ik",
            "ij,kj",
            "...i,...i->...",
            "ii,ij->j",
            "ij,jk,kl->li",
            "ijk->kij",
            "ij,ij->",
            "i,j,k->kji",
        ]
    )
)
def test_einsum(subscripts):
    operands = [
        numbers((2,) * max(len(t.replace("...", "ab")), 1)) for t in subscripts.split("->")[0].split(",")
    ]
    equal(rnp.einsum(subscripts, *operands), np.einsum(subscripts, *operands))


def test_einsum_takes_digits_as_names_too():
    x, y = numbers((2, 3, 4)), numbers((2, 1, 4))
    equal(rnp.einsum("...h0,...10->...h1", x, y), np.einsum("...hd,...kd->...hk", x, y))
    equal(rnp.einsum("a10->1a", x), np.einsum("abc->ba", x))


def test_einsum_takes_lists_of_any_names_that_can_be_sorted():
    x, y = numbers((2, 3)), numbers((3, 4))
    wanted = np.einsum("ij,jk->ik", x, y)
    equal(rnp.einsum(x, ["tokens", "heads"], y, ["heads", "kv"], ["tokens", "kv"]), wanted)
    equal(rnp.einsum(x, ["tokens", "heads"], y, ["heads", "kv"]), wanted.T)  # the names in their order
    equal(rnp.einsum(x, [..., ("a", 1)], y, [("a", 1), ("b",)]), wanted)
    equal(rnp.einsum(x, [100, -1], y, [-1, 200]), wanted)
    with pytest.raises(TypeError, match="hashed and compared"):
        rnp.einsum(x, ["a", 1], y, [1, "b"])
    with pytest.raises(ValueError, match="which no operand has"):
        rnp.einsum(x, [0, 1], y, [1, 2], [0, 3])


@pytest.mark.needs("grad")
@few
@given(hnp.array_shapes(min_dims=2, max_dims=3, min_side=0, max_side=4), st.integers(-5, 5), st.data())
def test_diagonals(shape, offset, data):
    axis1, axis2 = data.draw(st.permutations(range(len(shape))))[:2]
    x, places = numbers(shape), (offset, axis1, axis2)
    equal(rnp.diagonal(x, *places), np.diagonal(x, *places))
    weights = np.diagonal(x, *places) + 1
    wanted = np.zeros_like(x)
    rows, columns = [i.diagonal(offset) for i in np.indices((shape[axis1], shape[axis2]))]
    np.moveaxis(wanted, (axis1, axis2), (-2, -1))[..., rows, columns] = weights
    equal(rb.grad(lambda x: rnp.vdot(rnp.diagonal(x, *places), weights))(x), wanted)


# ------------------------------------------------------------------------- slices, and rounding of integers
@pytest.mark.needs("jit")
@pytest.mark.parametrize("axis", (0, 1, -1))
@pytest.mark.parametrize("dtype", ("i4", "f4", "?"))
def test_unique_slices_of_a_size(axis, dtype):
    draw = np.random.default_rng(axis + 7)
    whole = draw.integers(0, 2, (9, 3, 7) if axis == 0 else (2, 9))
    want = np.unique(whole, True, True, True, axis=axis)
    # NaN stands for 1: it comes last, too, and all are one here; NumPy's are none of them equal in slices.
    shown = lambda x: np.where(x == 1, np.nan, 0).astype(dtype) if dtype == "f4" else x.astype(dtype)
    x, want = shown(whole), (shown(want[0]), *want[1:])
    size = want[0].shape[axis]
    every = {"return_index": True, "return_inverse": True, "return_counts": True, "axis": axis}
    jitted = rb.jit(lambda x, size: rnp.unique(x, **every, size=size), static_argnums=1)
    for found in (rnp.unique(x, **every, size=size), jitted(x, size)):
        for mine, theirs in zip(found, want, strict=True):
            np.testing.assert_array_equal(mine, np.reshape(theirs, mine.shape))
    values, _, _, counts = rnp.unique(x, **every, size=size + 2, fill_value=1)
    rest = np.moveaxis(np.asarray(values), axis, 0)[size:]
    assert rest.shape[0] == 2 and (rest == 1).all() and counts[size:].tolist() == [0, 0]
    np.testing.assert_array_equal(rnp.unique(x, axis=axis, size=1), np.take(want[0], [0], axis))


def test_unique_slices_of_nothing():
    for shape in ((0, 3), (3, 0)):
        empty = np.zeros(shape, np.float32)
        found = rnp.unique(empty, axis=0, size=2)
        assert found.shape == (2, shape[1])


@few
@given(hnp.arrays(st.sampled_from(["i1", "u1", "i2", "u2", "i4"]), st.integers(0, 20)), st.integers(-4, 0))
def test_rounding_integers_before_the_point(x, decimals):
    unit, low = 10**-decimals, int(np.iinfo(x.dtype).min)
    span = 1 << (8 * x.itemsize)

    def exact(n):
        whole, rest = divmod(n, unit)
        up = 2 * rest > unit or (2 * rest == unit and whole % 2 == 1)
        return ((whole + up) * unit - low) % span + low

    assert rnp.round(x, decimals).tolist() == [exact(n) for n in x.tolist()]


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.needs("float8_e5m2")
def test_sets_of_numbers_of_a_byte():
    """NumPy sorts them with NaN in the middle. 256 patterns: 6 are NaN, two are zeros."""
    every = rnp.asarray(np.arange(256, dtype=np.uint8)).view(rnp.float8_e5m2)
    found = np.asarray(rnp.unique(every)).astype("float32")
    assert len(found) == 250 and np.isnan(found[-1]) and (np.diff(found[:-1]) > 0).all()


@pytest.mark.needs("grad")
@pytest.mark.parametrize("size", [rnp.linalg.norm, rnp.std, lambda x: rnp.linalg.norm(x[None], "fro")])
def test_sizes_of_nothing_have_a_subgradient(size):
    """As ``hypot``: 0 is between the slopes on all sides."""
    assert np.asarray(rb.grad(size)(rnp.zeros(3))).tolist() == [0, 0, 0]
    assert np.asarray(rb.grad(lambda x: size(x * 0.0))(rnp.ones(3))).tolist() == [0, 0, 0]
    x = rnp.array([3.0, 4.0, 0.0])
    assert np.isfinite(rb.grad(size)(x)).all() and float(size(x)) > 1
