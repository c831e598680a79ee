"""Parts of references: what indices read and write, beside NumPy."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental import pallas as pl
from rabbet.experimental.pallas import triton

X = np.arange(120).reshape(2, 3, 4, 5).astype("int32")


def run(kernel, out, *args):
    """A kernel on whole arrays, with ``i``, ``j`` and so on computed within."""
    return np.asarray(pl.pallas_call(kernel, rb.ShapeDtypeStruct(out.shape, out.dtype))(*args))


def ds(start, size, stride=1):
    """``pl.ds``, and for NumPy, whose starts are known, a slice."""
    if isinstance(start, np.ndarray):
        return slice(int(start), int(start) + size * stride, stride)
    return pl.ds(start, size, stride)


def at(x):
    """``ref.at``; an array itself."""
    return getattr(x, "at", x)


PARTS = {
    "all": lambda r, c: r[...],
    "one": lambda r, c: r[1],
    "from the end": lambda r, c: r[-1, ..., -2],
    "a slice": lambda r, c: r[:, 1:3, ::2],
    "computed": lambda r, c: r[c(1), c(2)],
    "ds": lambda r, c: r[:, ds(c(0), 2), ds(c(1), 2)],
    "ds with a stride": lambda r, c: r[0, 0, :, ds(c(0), 3, 2)],
    "parts of parts": lambda r, c: at(at(r)[1])[:, ds(c(1), 2)][2],
    "of a part with a step": lambda r, c: at(at(r)[..., ::2])[..., c(2)][...],
    "arrays together": lambda r, c: r[:, c([0, 2, 1]), c([3, 0, 1])],
    "arrays apart": lambda r, c: r[c([0, 1]), :, c([3, 0])],
    "an array and a number": lambda r, c: r[0, :, c([3, 0, 1])],
    "arrays that spread": lambda r, c: r[0, c([[0], [2]]), c([[3, 0, 1]])],
    "reshaped": lambda r, c: r.reshape(6, -1)[4],
    "turned around": lambda r, c: r.transpose(3, 0, 2, 1)[1, c(1)],
}


@pytest.mark.parametrize("name", PARTS)
def test_reading(name):
    part, arrays = PARTS[name], []

    def known(c):
        arrays.append(np.asarray(c, "int32"))
        return arrays[-1]

    wanted = part(X, known)

    def kernel(x, *refs):
        *given, out = refs
        given = iter(given)
        out[...] = part(x, lambda c: next(given)[...])

    np.testing.assert_array_equal(run(kernel, wanted, X, *arrays), wanted)


PLACES = {
    "all": ((), ...),
    "one": ((1,), (1,)),
    "ds": ((0, pl.ds(1, 2)), (0, slice(1, 3))),
    "steps": ((slice(None), slice(0, 3, 2), 1), (slice(None), slice(0, 3, 2), 1)),
}


@pytest.mark.parametrize("name", PLACES)
def test_writing(name):
    ours, theirs = PLACES[name]
    wanted = X.copy()
    new = -np.arange(wanted[theirs].size).reshape(wanted[theirs].shape).astype("int32")
    wanted[theirs] = new

    def kernel(x, new, out):
        out[...] = x[...]
        out[ours] = new[...]

    np.testing.assert_array_equal(run(kernel, X, X, new), wanted)


def test_writing_at_arrays_of_indices():
    rows, columns = np.int32([0, 2]), np.int32([3, 1])
    wanted = X.copy()
    wanted[:, rows, columns] = -1

    def kernel(x, rows, columns, out):
        out[...] = x[...]
        out[:, rows[...], columns[...]] = rnp.full((2, 2, 5), -1, "int32")

    np.testing.assert_array_equal(run(kernel, X, X, rows, columns), wanted)


def test_writing_through_a_view_of_a_view():
    def kernel(x, out):
        out[...] = x[...]
        part = out.at[1].reshape(3, 20).at[pl.ds(x[0, 0, 0, 1], 2)]
        part[...] = rnp.zeros((2, 20), "int32")
        out.at[0, 0][0, 0] = 7
        out.at[0, 0][1, pl.ds(0, 2)] += 100

    wanted = X.copy()
    wanted[1, 1:3] = 0
    wanted[0, 0, 0, 0] = 7
    wanted[0, 0, 1, :2] += 100
    np.testing.assert_array_equal(run(kernel, X, X), wanted)


def test_bits_of_another_dtype():
    x = np.arange(32, dtype="float32").reshape(4, 8)

    def kernel(x, out, back):
        words = x.bitcast("uint16")
        assert words.shape == (8, 8)
        out[...] = words[...]
        back[...] = out.bitcast("float32")[...]

    out, back = pl.pallas_call(
        kernel, (rb.ShapeDtypeStruct((8, 8), "uint16"), rb.ShapeDtypeStruct((4, 8), "float32"))
    )(x)
    np.testing.assert_array_equal(back, x)
    low_first = x.view("uint16").reshape(4, 8, 2).transpose(0, 2, 1).reshape(8, 8)
    np.testing.assert_array_equal(out, low_first)


@pytest.mark.parametrize("start", [-3, -1, 0, 2, 5, 9, 30])
def test_masked_parts_may_reach_beyond(start):
    x = np.arange(1, 11, dtype="int32")
    places = start + np.arange(6)
    mask = (places >= 0) & (places < 10) & (places % 4 != 1)

    def kernel(x, at, out, left, gathered, scattered):
        mask = rnp.arange(6) + at[0]
        mask = (mask >= 0) & (mask < 10) & (mask % 4 != 1)
        part = x.at[pl.ds(at[0], 6)]
        out[...] = triton.load(part, mask=mask, other=-1)
        left[...] = x[...]
        triton.store(left.at[pl.ds(at[0], 6)], out[...] * 10, mask=mask)
        indices = rnp.arange(6) + at[0]
        gathered[...] = triton.load(x.at[indices], mask=mask, other=-1)
        scattered[...] = x[...]
        triton.store(scattered.at[indices], out[...] * 10, mask=mask)

    six, ten = rb.ShapeDtypeStruct((6,), "int32"), rb.ShapeDtypeStruct((10,), "int32")
    read, left, gathered, scattered = pl.pallas_call(kernel, (six, ten, six, ten))(x, np.int32([start]))
    wanted, after = np.full(6, -1, "int32"), x.copy()
    wanted[mask] = x[places[mask]]
    after[places[mask]] = wanted[mask] * 10
    for found in (read, gathered):
        np.testing.assert_array_equal(found, wanted)
    for found in (left, scattered):
        np.testing.assert_array_equal(found, after)


def test_a_masked_block_of_two_dimensions():
    x = np.arange(30, dtype="float32").reshape(5, 6)

    def kernel(x, n, out):
        rows, columns = rnp.arange(4)[:, None] + 3, rnp.arange(8)[None]
        mask = (rows < 5) & (columns < 6)
        out[...] = triton.load(x.at[pl.ds(n[0], 4), pl.ds(0, 8)], mask=mask, other=0.5)

    wanted = np.full((4, 8), 0.5, "float32")
    wanted[:2, :6] = x[3:]
    np.testing.assert_array_equal(run(kernel, wanted, x, np.int32([3])), wanted)


ATOMICS = {
    "atomic_add": np.add, "atomic_max": np.maximum, "atomic_min": np.minimum, "atomic_and": np.bitwise_and,
    "atomic_or": np.bitwise_or, "atomic_xor": np.bitwise_xor, "atomic_xchg": lambda old, new: new,
}  # fmt: skip


@pytest.mark.parametrize("name", ATOMICS)
def test_atomic_operations(name):
    x, y = np.int32([5, 6, 7, 8]), np.int32([12, 3])
    mask = np.array([True, False])

    def kernel(x, y, mask, out, old, masked):
        for ref in (out, masked):
            ref[...] = x[...]
        old[...] = getattr(triton, name)(out, pl.ds(1, 2), y[...])
        getattr(triton, name)(masked, (rnp.arange(2) + 1,), y[...], mask=mask[...])

    shapes = [rb.ShapeDtypeStruct((n,), "int32") for n in (4, 2, 4)]
    out, old, masked = pl.pallas_call(kernel, shapes)(x, y, mask)
    wanted = x.copy()
    wanted[1:3] = ATOMICS[name](x[1:3], y)
    assert out.tolist() == wanted.tolist() and old.tolist() == [6, 7]
    wanted[2] = x[2]
    assert masked.tolist() == wanted.tolist()


def test_one_element_added_to_by_several_indices():
    def kernel(places, out):
        out[...] = rnp.zeros(3, "int32")
        triton.atomic_add(out, (places[...],), rnp.ones(5, "int32"))

    call = pl.pallas_call(kernel, rb.ShapeDtypeStruct((3,), "int32"))
    assert call(np.int32([0, 2, 2, 0, 2])).tolist() == [2, 0, 3]


def test_an_element_is_exchanged_where_it_is_the_expected_one():
    def kernel(x, out, old):
        out[...] = x[...]
        old[0] = triton.atomic_cas(out.at[0], 5, 1)
        old[1] = triton.atomic_cas(out.at[1], 5, 1)

    shape = rb.ShapeDtypeStruct((2,), "int32")
    out, old = pl.pallas_call(kernel, (shape, shape))(np.int32([5, 6]))
    assert out.tolist() == [1, 6] and old.tolist() == [5, 6]


WRONG = {
    "a value of another shape": (
        lambda x, out: out.set(x[0]),
        ValueError,
        r"shape \(3, 4, 5\) cannot be written",
    ),
    "too many indices": (lambda x, out: x[0, 0, 0, 0, 0], IndexError, "one index for each dimension"),
    "out of range": (lambda x, out: x[2], IndexError, "index 2 is out of range for dimension 0"),
    "a computed slice": (lambda x, out: x[x[0, 0, 0, 0] :], TypeError, r"ds\(start, size\)"),
    "a mask as an index": (lambda x, out: x[rnp.ones(2, "bool")], TypeError, r"load\(mask=...\)"),
    "a computed size": (lambda x, out: x[pl.ds(0, x[0, 0, 0, 0])], TypeError, "a computed size"),
    "other without a mask": (lambda x, out: triton.load(x, other=0), TypeError, "there is no mask"),
    "no reference": (lambda x, out: triton.load(x[...]), TypeError, "expected a reference of a kernel"),
    "another shape": (lambda x, out: x.reshape(7, 7), TypeError, r"cannot be seen in shape \(7, 7\)"),
    "as an array": (lambda x, out: rnp.sin(x), TypeError, "got a Ref as argument 1"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be(name):
    kernel, error, said = WRONG[name]
    with pytest.raises(error, match=said):
        pl.pallas_call(lambda x, out: (kernel(x, out), None)[1], rb.typeof(X))(X)
