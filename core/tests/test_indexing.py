"""``x[index]`` and ``x.at[index]``: NumPy is the reference for what they select."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rabbet import errors, lax
from rabbet.program.avals import ShapedArray
from rabbet.testing.draws import device_array
from rabbet.testing.driver import CORE
from rabbet.trace.interpreter import typeof
from rabbet.trace.staging import stage

HOST = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
S = np.s_

BASIC = [
    S[0], S[-1], S[1, 2], S[1, 2, 3], S[...], S[()], S[None], S[None, 0], S[0, None, 1], S[..., 1], S[1, ...],
    S[..., None], S[0:1], S[::-1], S[:, 1:3], S[:, ::2], S[:, :, ::-2], S[:, 2:0:-1, 1], S[0, 5:9],
    S[1:, None, ::2],
    S[np.int64(1)], S[np.array(1)], S[np.int32(0) : np.int64(1)],
]  # fmt: skip
ADVANCED = [
    S[np.array([1, 0, 1])], S[[0, 1]], S[np.array([[0, 1], [1, 0]])], S[:, np.array([2, 0])],
    S[..., np.array([3, 0])],
    S[0, :, np.array([1, 2])], S[:, 0, np.array([1, 2])], S[np.array([0, 1]), :, np.array([1, 2])],
    S[np.array([0, 1]), np.array([1, 2])], S[np.array([0, 1]), np.array([1, 2]), np.array([3, 3])],
    S[np.array([[0], [1]]), np.array([1, 2])], S[np.array([0, 1]), None, np.array([1, 2])],
    S[None, np.array([0, 1])],
    S[np.array([0, 1]), None], S[0:2, np.array([1, 2]), 1:3], S[::-1, np.array([1, 2]), ::2],
    S[np.array([-1, -2])],
    S[np.array([], int)], S[[]], S[:, []], S[np.array([0, 1], np.uint8)], S[1, np.array([0, 1]), :, None],
    S[..., np.array([0, 1]), None, 0],
]  # fmt: skip
MASKS = [
    S[HOST > 5], S[np.array([True, False])], S[:, np.array([True, False, True])], S[HOST[:, :, 0] > 5],
    S[np.array([True, False]), :, np.array([0])], S[np.zeros(2, bool)], S[True], S[False], S[None, True],
    S[0, True],
]  # fmt: skip
every_index = pytest.mark.parametrize("index", [*BASIC, *ADVANCED, *MASKS], ids=str)


@pytest.fixture(scope="module")
def x():
    return device_array(HOST)


def traced(fn, *args):
    """``fn`` of arrays as one compiled program."""
    return CORE.jit(lambda *a: (fn(*a),))(*args)[0]


# ------------------------------------------------------------------------------------------------ reading
@every_index
def test_reading_is_numpy_s(x, index):
    np.testing.assert_array_equal(x[index], HOST[index])


@every_index
def test_reading_in_a_program(x, index):
    np.testing.assert_array_equal(traced(lambda a: a[index], x), HOST[index])


@pytest.mark.parametrize("index", ADVANCED, ids=str)
def test_arrays_of_positions_may_be_computed(x, index):
    """Each integer array as an argument of the program."""
    items = index if isinstance(index, tuple) else (index,)
    items = [np.asarray(i, np.int32) if isinstance(i, (list, np.ndarray)) else i for i in items]
    places = [i for i, item in enumerate(items) if isinstance(item, np.ndarray)]

    def read(a, *arrays):
        found = list(items)
        for place, array in zip(places, arrays, strict=True):
            found[place] = array
        return a[tuple(found)]

    arrays = [device_array(items[p]) for p in places]
    np.testing.assert_array_equal(traced(read, x, *arrays), HOST[index])
    np.testing.assert_array_equal(read(x, *arrays), HOST[index])


def test_positions_may_be_scalars_that_are_computed(x):
    i, j = device_array(np.int32(1)), device_array(np.int8(-1))
    np.testing.assert_array_equal(traced(lambda a, i: a[i], x, i), HOST[1])
    np.testing.assert_array_equal(traced(lambda a, i, j: a[i, 1:, j], x, i, j), HOST[1, 1:, -1])
    np.testing.assert_array_equal(traced(lambda a, i, j: a[j, ::-2, i], x, i, j), HOST[-1, ::-2, 1])
    np.testing.assert_array_equal(x[i, 1:, j], HOST[1, 1:, -1])


def indices_for(shape):
    """A strategy for index expressions into arrays of a shape."""

    def of_dimension(n):
        return st.one_of(
            st.integers(-n, n - 1),
            st.slices(n),
            st.lists(st.integers(-n, n - 1), min_size=2, max_size=2).map(np.array),
            st.lists(st.booleans(), min_size=n, max_size=n).map(np.array),
        )

    def assemble(entries, dots, new):
        entries = list(entries)
        if dots is not None:
            entries[dots:] = [Ellipsis]
        for place in new:
            entries.insert(min(place, len(entries)), None)
        return tuple(entries)

    dots = st.none() | st.integers(0, len(shape))
    return st.builds(
        assemble, st.tuples(*[of_dimension(n) for n in shape]), dots, st.lists(st.integers(0, 3), max_size=1)
    )


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(index=indices_for((2, 3)), data=st.data())
def test_any_index(index, data):
    host = np.arange(6, dtype=np.float32).reshape(2, 3)
    try:
        want = host[index]
    except IndexError:  # arrays whose shapes do not broadcast
        with pytest.raises((IndexError, ValueError)):
            device_array(host)[index]
        return
    array = device_array(host)
    np.testing.assert_array_equal(array[index], want)
    values = np.arange(want.size, dtype=np.float32).reshape(want.shape) + 10
    changed = host.copy()
    np.add.at(changed, index, values)
    np.testing.assert_array_equal(array.at[index].add(values), changed)


# ------------------------------------------------------------------------------------------- out of range
@pytest.mark.parametrize("index", [S[2], S[-3], S[0, 3], S[..., 4], S[np.array([0, 1]), 3]], ids=str)
def test_static_integers_out_of_range_raise(x, index):
    for read in (lambda a: a[index], lambda a: a.at[index].set(0.0), lambda a: a.at[index].get()):
        with pytest.raises(IndexError, match="is out of range for dimension"):
            read(x)
        with pytest.raises(IndexError, match="is out of range for dimension"):
            traced(read, x)


@pytest.mark.parametrize("shape", [(), (1,), (2,)])
@pytest.mark.parametrize("position", [-7, -6, -2, 4, 5, 9])
def test_modes_of_reading(shape, position):
    v = device_array(np.arange(1.0, 7.0, dtype=np.float32))
    i = device_array(np.full(shape, position, np.int32))
    inside = -6 <= position < 6
    clipped = np.full(shape, [1, 2, 3, 4, 5, 6][max(position + 6 if position < 0 else min(position, 5), 0)])
    filled = clipped if inside else np.full(shape, np.nan)
    zeroed = clipped if inside else np.zeros(shape)
    for run in (lambda fn: fn(v, i), lambda fn: traced(fn, v, i)):
        np.testing.assert_array_equal(run(lambda a, i: a[i]), clipped)
        np.testing.assert_array_equal(run(lambda a, i: a.at[i].get()), clipped)
        np.testing.assert_array_equal(run(lambda a, i: a.at[i].get(mode="clip")), clipped)
        np.testing.assert_array_equal(run(lambda a, i: a.at[i].get(mode="fill")), filled)
        np.testing.assert_array_equal(run(lambda a, i: a.at[i].get(fill_value=0)), zeroed)
        if position < 0:
            out = run(lambda a, i: a.at[i].get(mode="fill", wrap_negative_indices=False))
            np.testing.assert_array_equal(out, np.full(shape, np.nan))


@pytest.mark.parametrize("how", ["eager", "in a program"])
@pytest.mark.parametrize("position", [5, -6, 2**40, -(2**40)])
def test_an_explicit_mode_is_for_static_positions_too(x, position, how):
    """As for the same position, computed."""
    reading = traced if how == "in a program" else lambda f, x: f(x)
    edge, near = (-1, 0) if position > 0 else (0, 0)
    np.testing.assert_array_equal(reading(lambda a: a.at[position].get(mode="clip"), x), HOST[edge])
    filled = reading(lambda a: a.at[near, position].get(mode="fill", fill_value=7), x)
    np.testing.assert_array_equal(filled, np.full(HOST[0, 0].shape, 7, HOST.dtype))
    np.testing.assert_array_equal(reading(lambda a: a.at[position].set(1, mode="drop"), x), HOST)
    changed = HOST.copy()
    changed[edge] *= 3
    np.testing.assert_array_equal(reading(lambda a: a.at[position].multiply(3, mode="clip"), x), changed)
    np.testing.assert_array_equal(reading(lambda a: a.at[position].apply(lax.neg, mode="drop"), x), HOST)
    changed[edge] = -HOST[edge]
    applied = reading(lambda a: a.at[position].apply(lax.neg, mode="clip"), x)
    np.testing.assert_array_equal(applied, changed)
    for mode in (None, "promise_in_bounds"):
        with pytest.raises(IndexError, match="is out of range for dimension 0"):
            reading(lambda a, mode=mode: a.at[position].get(mode=mode), x)
        with pytest.raises(IndexError, match="is out of range for dimension 0"):
            reading(lambda a, mode=mode: a.at[position].set(0, mode=mode), x)


def test_static_positions_that_are_not_to_count_from_the_end(x):
    options = {"wrap_negative_indices": False}
    np.testing.assert_array_equal(x.at[-1].get(mode="clip", **options), HOST[0])
    np.testing.assert_array_equal(x.at[-1].set(0, mode="drop", **options), HOST)
    np.testing.assert_array_equal(x.at[1].get(**options), HOST[1])
    with pytest.raises(IndexError, match="index -1 is out of range"):
        x.at[-1].get(**options)
    empty = x[:0]
    with pytest.raises(IndexError, match="of size 0"):  # there is no edge
        empty.at[0].get(mode="clip")


def test_fill_values_by_dtype():
    for dtype, want in [("int32", -(2**31)), ("uint8", 255), ("bool", True)]:
        v = device_array(np.zeros(3, dtype))
        assert v.at[device_array(np.array([9]))].get(mode="fill").tolist() == [want]


@pytest.mark.parametrize("shape", [(), (1,), (2,)])
def test_modes_of_writing(shape):
    v = device_array(np.zeros(3, np.float32))
    far, near = (device_array(np.full(shape, i, np.int32)) for i in (7, -1))
    n = max(1, int(np.prod(shape)))
    for run in (lambda fn, i: fn(v, i), lambda fn, i: traced(fn, v, i)):
        assert run(lambda a, i: a.at[i].add(1.0), far).tolist() == [0, 0, 0]
        assert run(lambda a, i: a.at[i].add(1.0, mode="drop"), far).tolist() == [0, 0, 0]
        assert run(lambda a, i: a.at[i].add(1.0, mode="clip"), far).tolist() == [0, 0, n]
        assert run(lambda a, i: a.at[i].add(1.0), near).tolist() == [0, 0, n]
        assert run(lambda a, i: a.at[i].add(1.0, wrap_negative_indices=False), near).tolist() == [0, 0, 0]


# ------------------------------------------------------------------------------------------------ writing
UFUNCS = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "min": np.minimum,
    "max": np.maximum,
}  # fmt: skip


@every_index
def test_setting_is_numpy_s(x, index):
    want = HOST.copy()
    values = np.arange(want[index].size, dtype=np.float32).reshape(want[index].shape) + 100
    want[index] = values
    got = x.at[index].set(values)
    if not repeats(index):
        np.testing.assert_array_equal(got, want)
    want[index] = -1
    np.testing.assert_array_equal(traced(lambda a: a.at[index].set(-1), x), want)


def repeats(index):
    """Whether an index names an element twice."""
    counts = np.zeros(HOST.shape)
    np.add.at(counts, index, 1)
    return counts.max() > 1


@pytest.mark.parametrize("how", UFUNCS)
@pytest.mark.parametrize(
    "index",
    [S[1], S[:, ::2], S[0, None, 1:], S[np.array([1, 0, 1])], S[:, np.array([2, 0, 2]), 1:3]],
    ids=str,
)
def test_combining_is_that_of_ufuncs(x, index, how):
    want = HOST.copy()
    values = np.arange(want[index].size, dtype=np.float32).reshape(want[index].shape) + 1
    UFUNCS[how].at(want, index, values)
    np.testing.assert_allclose(getattr(x.at[index], how)(values), want, rtol=1e-6)
    np.testing.assert_allclose(
        traced(lambda a, v: getattr(a.at[index], how)(v), x, device_array(values)), want, rtol=1e-6
    )


def test_power_and_apply(x):
    want = HOST.copy()
    want[1, ::2] **= 2
    np.testing.assert_allclose(x.at[1, ::2].power(2), want, rtol=1e-6)
    np.testing.assert_allclose(x.at[1, ::2].apply(lambda v: v * v), want, rtol=1e-6)
    want = HOST.copy()
    want[:, [0, 2]] = -want[:, [0, 2]]
    np.testing.assert_array_equal(x.at[:, np.array([0, 2])].apply(lax.neg), want)


@pytest.mark.parametrize("index", [0, np.array([0, 0])])
def test_apply_wants_one_array(x, index):
    for wrap in (lambda v: (v,), lambda v: [v], lambda v: {"a": v}):
        with pytest.raises(TypeError, match="must return one array, it returned a "):
            x.at[index].apply(wrap)


def test_values_take_the_dtype_of_the_array():
    v = device_array(np.zeros(3, np.int32))
    assert v.at[0].set(np.int8(5)).tolist() == [5, 0, 0]
    assert v.at[0].set([[7]]).tolist() == [7, 0, 0]
    assert v.at[:2].set([7, 8]).dtype == np.int32
    with pytest.warns(FutureWarning, match="lose what it cannot hold"):
        assert v.at[0].set(1.5).tolist() == [1, 0, 0]
    half = device_array(np.zeros(3, np.float16))
    # The words that JAX's warning begins with are what filters of warnings look for.
    with pytest.warns(FutureWarning, match="^scatter inputs .* cannot safely cast .* f32 to .* array f16"):
        assert half.at[0].set(np.float32(1.5)).tolist() == [1.5, 0, 0]
    assert half.at[0].set(1.5).at[1].set(np.int32(2)).tolist() == [1.5, 2, 0]
    assert v.at[0].divide(2).dtype == np.float32
    with pytest.raises(OverflowError):
        v.at[0].set(2**40)


@pytest.mark.forbidden("numpy_dtype_promotion")
def test_values_may_be_lists_that_hold_computed_ones():
    def changed(row):
        a, b = row
        zeros = lax.full((2, 2), 0.0)
        return (
            zeros.at[0].set([1, a]),
            zeros.at[:, 1].add((b, 0.5)),
            zeros.at[...].max([[a, -1.0], [True, b]]),
            zeros.at[:].set([row, [0, b]]),
        )

    found = CORE.jit(changed)(device_array(np.float32([2, 3])))
    for out, wanted in zip(found, ([[1, 2], [0, 0]], [[0, 3], [0, 0.5]], [[2, 0], [1, 3]], [[2, 3], [0, 3]])):
        np.testing.assert_array_equal(out, np.float32(wanted))


def test_masks_that_are_computed(x):
    want = np.where(HOST > 5, 0, HOST)
    np.testing.assert_array_equal(traced(lambda a: a.at[a > 5].set(0), x), want)
    np.testing.assert_array_equal(x.at[x > 5].set(0), want)
    np.testing.assert_array_equal(traced(lambda a: a.at[a > 5].add(a[0, 0, 0]), x), HOST)
    rows = np.array([False, True])
    np.testing.assert_array_equal(
        traced(lambda a, m: a.at[m].multiply(2.0), x, device_array(rows)),
        np.where(rows[:, None, None], 2 * HOST, HOST),
    )
    row = device_array(HOST[0])
    np.testing.assert_array_equal(
        traced(lambda a, m, v: a.at[m].set(v), x, device_array(rows), row), np.stack([HOST[0], HOST[0]])
    )


# ----------------------------------------------------------------------------------- derivatives, batches
def test_the_gradient_of_a_table_is_a_sum_over_uses():
    table = device_array(np.arange(6, dtype=np.float32).reshape(3, 2))
    tokens = device_array(np.array([[0, 2], [2, 2]], np.int32))
    out, pull = CORE.vjp(lambda t: (t[tokens],), table)
    (of_table,) = pull((lax.full_like(out[0], 1.0),))
    assert of_table.tolist() == [[1, 1], [0, 0], [3, 3]]
    jaxpr = stage(
        lambda t, ct: CORE.vjp(lambda t: (t[tokens],), t)[1]((ct,)), [typeof(table), typeof(out[0])]
    ).jaxpr
    assert [e.primitive.name for e in jaxpr.equations].count("scatter_add") == 1


def test_a_clamped_read_gives_its_cotangent_to_what_was_read():
    v = device_array(np.arange(3, dtype=np.float32))
    far = device_array(np.array([7], np.int32))
    _, pull = CORE.vjp(lambda a: (a[far],), v)
    assert pull((device_array(np.ones(1, np.float32)),))[0].tolist() == [0, 0, 1]


def test_reading_and_writing_by_example():
    rows = device_array(np.arange(6, dtype=np.float32).reshape(2, 3))
    at = device_array(np.array([2, 0], np.int32))
    (read,) = CORE.vmap(lambda r, i: (r[i],), (0, 0))(rows, at)
    assert read.tolist() == [2, 3]
    (written,) = CORE.vmap(lambda r, i: (r.at[i].add(10.0),), (0, 0))(rows, at)
    assert written.tolist() == [[0, 1, 12], [13, 4, 5]]
    (shared,) = CORE.vmap(lambda r, i: (r[i],), (None, 0))(
        rows, device_array(np.array([[0, 1], [1, 1]], np.int32))
    )
    np.testing.assert_array_equal(shared, np.asarray(rows)[np.array([[0, 1], [1, 1]])])


# ---------------------------------------------------------------------------------------- what is emitted
def primitives_of(fn, *avals):
    return [e.primitive.name for e in stage(lambda *a: [fn(*a)], avals).jaxpr.equations]


@pytest.mark.parametrize("rows", [ShapedArray((), "int32"), ShapedArray((3,), "int32")], ids=str)
def test_slices_beside_computed_positions_are_part_of_the_window(rows):
    """No slice of all rows is taken out and put back, which takes a loop over rows the square of the time."""
    table = ShapedArray((1000, 8), "float32")
    program = stage(lambda a, i: [a.at[i, 2:5].set(0), a.at[i, :6].add(1)], [table, rows]).jaxpr
    made = [v.aval.size for e in program.equations for v in e.outputs if v not in program.outvars]
    assert max(made) <= 6 * rows.size


MATRIX, SCALAR, VECTOR = ShapedArray((5, 3), "float32"), ShapedArray((), "int32"), ShapedArray((4,), "int32")


def test_static_positions_become_slices():
    assert primitives_of(lambda a: a[2], MATRIX) == ["slice", "squeeze"]
    assert primitives_of(lambda a: a[1:3, ::2], MATRIX) == ["slice"]
    assert primitives_of(lambda a: a[None], MATRIX) == ["expand_dims"]
    assert primitives_of(lambda a: a[...], MATRIX) == []


def test_one_computed_position_is_a_dynamic_slice():
    names = primitives_of(lambda a, i: a[i], MATRIX, SCALAR)
    assert names[-2:] == ["dynamic_slice", "squeeze"]
    assert "gather" not in names


def test_arrays_of_positions_are_one_gather_or_scatter():
    assert primitives_of(lambda a, i: a[i], MATRIX, VECTOR).count("gather") == 1
    assert primitives_of(lambda a, i: a.at[i].add(1.0), MATRIX, VECTOR).count("scatter_add") == 1
    assert primitives_of(lambda a: a[np.array([0, -1])], MATRIX) == ["gather"]


def test_one_program_serves_all_rows():
    from rabbet.lax.indexing import reads

    v = device_array(np.arange(7, dtype=np.float32))
    v[0]
    before = len(reads._row_calls)
    assert [v[i].item() for i in range(-7, 7)] == [*range(7), *range(7)]
    assert len(reads._row_calls) == before


@pytest.mark.parametrize("n", [0, 1, 64, 130])
def test_iteration(n):
    host = np.arange(2 * n, dtype=np.float32).reshape(n, 2)
    rows = list(device_array(host))
    assert len(rows) == n
    for row, want in zip(rows, host, strict=True):
        np.testing.assert_array_equal(row, want)


def test_iteration_in_a_program(x):
    np.testing.assert_array_equal(traced(lambda a: lax.add(*a), x), HOST[0] + HOST[1])


# ----------------------------------------------------------------------------------------------- messages
@pytest.mark.parametrize(
    ("read", "error", "words"),
    [
        (lambda a: a[0.5], TypeError, "float 0.5 cannot index"),
        (lambda a: a["a"], TypeError, "str 'a' cannot index"),
        (lambda a: a[a], TypeError, r"f32\[2,3,4\] cannot index"),
        (lambda a: a[np.ones(3)], TypeError, "astype"),
        (lambda a: a[0, 0, 0, 0], IndexError, "too many indices: .* has 3 dimensions, 4 were indexed"),
        (lambda a: a[..., ...], IndexError, "only one ellipsis"),
        (lambda a: a[np.ones(4, bool)], IndexError, "a mask of the shape"),
        (lambda a: a.at[np.ones(4, bool)].set(0), IndexError, "a mask of the shape"),
        (lambda a: a[0:0][np.array([0])], IndexError, "it is empty"),
        (lambda a: a[[a[0, 0, 0]]], TypeError, r"astype\(int\)"),
        (lambda a: a[np.array([0, 1]), np.array([0, 1, 2])], ValueError, "Incompatible shapes"),
        (lambda a: a.at[0].set(np.ones(7, np.float32)), ValueError, r"shape \(7,\) do not broadcast"),
        (lambda a: a.__setitem__(0, 1), TypeError, r"x = x.at\[index\].set\(value\)"),
        (
            lambda a: a.at[0].get(fill_value=np.ones(2)),
            TypeError,
            "fill_value must be a Python or NumPy scalar",
        ),
        (lambda a: a.at[0].set(0, mode="wrap"), ValueError, "unknown mode 'wrap'"),
    ],
)
def test_messages(x, read, error, words):
    with pytest.raises(error, match=words):
        read(x)
    with pytest.raises(error, match=words):
        traced(read, x)


def test_shapes_cannot_depend_on_values(x):
    with pytest.raises(errors.NonConcreteBooleanIndexError, match=r"rabbet.numpy.where\(mask, x, other\)"):
        traced(lambda a: a[a > 5], x)
    with pytest.raises(IndexError, match=r"rb\.ds\(start, size\)"):
        traced(lambda a, i: a[i:], x, device_array(np.int32(1)))


def test_booleans_are_added_and_multiplied_at_positions():
    x, at = lax.ne(np.int32([1, 0, 0, 1]), 0), np.array([0, 1, 1, 3])
    values = np.array([True, False, True, True])
    assert x.at[at].add(values).tolist() == [True, True, False, True]
    assert x.at[at].add(False).tolist() == x.tolist()
    assert x.at[at].multiply(values).tolist() == [True, False, False, True]
    assert x.at[at].multiply(False).tolist() == [False, False, False, False]
