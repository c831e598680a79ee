"""What is taken for an array, an index, a shift or a shape; keys; and the same bytes as another dtype."""

import collections

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

X = np.arange(12, dtype="f4").reshape(3, 4)


class Holder:
    """Gives an array."""

    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return rnp.asarray(self.value)


V = np.float32([3, 1, 2])
HELD = Holder(V)

# Each takes an array, or what gives one.
TAKES = {
    "sin": lambda v: rnp.sin(v),
    "add": lambda v: rnp.add(v, 1),
    "operator": lambda v: rnp.ones(3) + v,
    "comparison": lambda v: rnp.ones(3) < v,
    "sum": lambda v: rnp.sum(v),
    "mean": lambda v: rnp.mean(v),
    "reshape": lambda v: rnp.reshape(v, (3, 1)),
    "concatenate": lambda v: rnp.concatenate([v, v]),
    "stack": lambda v: rnp.stack([v, rnp.ones(3)]),
    "where": lambda v: rnp.where(v, 1, 2),
    "dot": lambda v: rnp.dot(v, v),
    "einsum": lambda v: rnp.einsum("i,i", v, v),
    "sort": lambda v: rnp.sort(v),
    "zeros_like": lambda v: rnp.zeros_like(v),
    "full": lambda v: rnp.full((2, 3), v),
    "clip": lambda v: rnp.clip(v, 1.5),
    "pad": lambda v: rnp.pad(v, 1),
    "norm": lambda v: rnp.linalg.norm(v),
    "set": lambda v: rnp.zeros((2, 3)).at[0].set(v),
    "list": lambda v: rnp.array([v, [1, 2, 3]]),
    "lax": lambda v: lax.mul(v, v),
    "result_type": lambda v: rnp.zeros(1, rnp.result_type(v, 1)),
    "shape": lambda v: rnp.zeros(rnp.shape(v)),
}


@pytest.mark.parametrize("name", TAKES)
@pytest.mark.needs("jit")
def test_objects_that_give_an_array(name):
    take = TAKES[name]
    wanted = take(rnp.asarray(V))
    for found in (take(HELD), rb.jit(lambda: take(HELD))()):
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    with rb.enable_checks(True):
        np.testing.assert_allclose(rb.jit(lambda: take(HELD))(), wanted, rtol=1e-6)
    HELD.value = V + 1  # nothing was remembered by the object
    try:
        np.testing.assert_allclose(take(HELD), take(rnp.asarray(V + 1)), rtol=1e-6)
    finally:
        HELD.value = V


def test_objects_as_indices():
    assert rnp.asarray(X)[Holder(np.int32([2, 0]))].tolist() == X[[2, 0]].tolist()
    assert rnp.take(HELD, Holder(np.int32(1))) == 1


@pytest.mark.needs("jit")
@pytest.mark.narrow
def test_sequences_as_indices():
    x, k = rnp.asarray(X), np.int32(1)
    indices = [
        ((0, 1, 0),),
        (..., (0, 1)),
        ((0, 2), (1, 3)),
        ([[0, 1], [2, 2]],),
        ((True, False, True),),
        ((),),
        (range(2),),
        (slice(None), (0, 2)),
    ]
    for index in indices:
        np.testing.assert_array_equal(x[index], X[index])
    np.testing.assert_array_equal(x[[rnp.int32(0), 2]], X[[0, 2]])
    np.testing.assert_array_equal(x.at[(0, 1),].set(0), np.where(np.arange(3)[:, None] < 2, 0, X))
    np.testing.assert_array_equal(rb.jit(lambda i: x[(0, i),])(k), X[[0, 1]])
    np.testing.assert_array_equal(rb.jit(lambda i: x[..., [[0, i], [i, -1]]])(k), X[..., [[0, 1], [1, -1]]])
    added = X.copy()
    np.add.at(added, (..., [0, 0, 1]), 1)
    np.testing.assert_array_equal(rb.jit(lambda i: x.at[..., (0, 0, i)].add(1))(k), added)
    twice = rb.jit(lambda i: x.at[(0, i),].apply(lambda v: v * 2))(np.int32(0))
    np.testing.assert_array_equal(twice[0], X[0] * 4)
    with pytest.raises(TypeError, match=r"a sequence that holds f32\[\]"):
        rb.jit(lambda i: x[(0, i),])(1.0)
    with pytest.raises(TypeError, match="differ in length"):
        x[([0, 1], [2]),]


@pytest.mark.needs("jit")
def test_shifts_and_choices_of_traced_scalars():
    x, k = rnp.asarray(X), np.int32(1)
    np.testing.assert_array_equal(rb.jit(lambda k: rnp.roll(x, [k], 0))(k), np.roll(X, 1, 0))
    np.testing.assert_array_equal(
        rb.jit(lambda k: rnp.roll(x, (k, 2), (0, 1)))(k), np.roll(X, (1, 2), (0, 1))
    )
    for choose in (lambda x: rnp.where(x < 1, 1, x), lambda x: rnp.where(x < 1, x, 1)):
        for value in (0.5, 2.5):
            assert float(rb.jit(choose)(value)) == float(choose(value)) == float(choose(rnp.asarray(value)))
    assert rb.jit(lambda c: rnp.where(c, 1, 2))(True).weak_type


@pytest.mark.narrow
def test_nested_sequences_and_ranges():
    one, row = rnp.int32(1), rnp.asarray(X[0])
    assert rnp.array(range(3)).tolist() == [0, 1, 2] and rnp.asarray(range(3), float).dtype == np.float32
    assert rnp.array([[1, one], [np.float32(2), 3]]).tolist() == [[1, 1], [2, 3]]
    assert rnp.array([row, [1, 2, 3, 4], range(4)]).tolist() == [[0, 1, 2, 3], [1, 2, 3, 4], [0, 1, 2, 3]]
    assert rnp.shape(((1, 2), range(2))) == (2, 2) and rnp.ndim(range(3)) == 1


@pytest.mark.narrow
def test_shapes_and_dtypes_in_the_place_of_arrays():
    like = rb.ShapeDtypeStruct((2, 3), "int8")
    Duck = collections.namedtuple("Duck", "shape dtype")
    for x in (like, Duck((2, 3), np.dtype("int8"))):
        assert (rnp.zeros_like(x).shape, rnp.ones_like(x).dtype) == ((2, 3), np.int8)
        assert rnp.full_like(x, 7).tolist() == [[7] * 3] * 2 and rnp.empty_like(x, float).dtype == np.float32
    assert rnp.iscomplexobj(rnp.complex64) and not rnp.iscomplexobj(np.dtype("f4")) and rnp.isrealobj(1.0)


def test_keys_in_the_place_of_numbers():
    random = pytest.importorskip("rabbet.random")
    key, keys = random.key(0), random.split(random.key(1), 4)
    data = np.asarray(random.key_data(keys))
    bits = lambda x: np.asarray(random.key_data(x))
    assert (bits(rnp.full_like(keys, key)) == bits(key)).all() and rnp.empty_like(keys).dtype == keys.dtype
    mask = np.array([True, False, True, False])
    np.testing.assert_array_equal(bits(rnp.where(mask, keys, key)), np.where(mask[:, None], data, bits(key)))
    np.testing.assert_array_equal(bits(rnp.stack([key, keys[1]])), [bits(key), data[1]])
    np.testing.assert_array_equal(bits(rnp.broadcast_to(key, (3,))), [bits(key)] * 3)
    np.testing.assert_array_equal(bits(keys.at[0].set(key))[0], bits(key))
    np.testing.assert_array_equal(bits(rnp.full((2,), key)), [bits(key)] * 2)
    np.testing.assert_array_equal(bits(rnp.tile(keys, 2)), np.tile(data, (2, 1)))
    assert rb.device_get({"keys": keys, "x": rnp.ones(1)})["keys"] is keys
    np.testing.assert_array_equal(bits(rnp.full_like(keys, 1)), np.ones_like(data))
    with pytest.raises(TypeError, match="are stored as uint32"):
        rnp.full_like(keys, 1.5)


def test_named_tuples_may_be_registered():
    class Tagged(collections.namedtuple("Tagged", "value tag")):
        pass

    rb.tree.register_node(Tagged, lambda t: ((t.value,), t.tag), lambda tag, c: Tagged(c[0], tag))
    assert rb.tree.leaves(Tagged(1, "a")) == [1]
    assert rb.tree.map(lambda x: x + 1, Tagged(1, "a")) == (2, "a")
    with pytest.raises(rb.errors.TreeError, match="register a class once"):
        rb.tree.register_node(Tagged, lambda t: ((), t), lambda t, _: t)


# ------------------------------------------------------------------------------------------- bytes, standard
@pytest.mark.forbidden("explicit_x64_dtypes")
@pytest.mark.parametrize("source", "float32 complex64 bool int8 uint64 complex128".split())
def test_views_are_numpys(source):
    host = np.asarray([[0, 1, 0, 3], [1, 0, 0, 0]]).astype(source)
    x = rnp.asarray(host, source)
    for target in "float32 uint8 complex64 int64 bool float16 complex128".split():
        try:
            wanted = host.view(target)
        except ValueError:
            with pytest.raises(ValueError, match="does not divide"):
                x.view(target)
            continue
        found = np.asarray(x.view(target))
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        if target == "bool":  # NumPy keeps bytes that are neither 0 nor 1
            np.testing.assert_array_equal(found, wanted.view("uint8") != 0)
        else:
            assert found.tobytes() == wanted.tobytes()
    assert np.asarray(x.byteswap()).tobytes() == host.byteswap().tobytes()
    assert x.view() is x


@pytest.mark.needs("jit")
def test_views_of_traced_arrays_and_scalars():
    assert rb.jit(lambda x: x.view("int8"))(X).shape == (3, 16)
    assert rnp.float32(1).view("int32") == np.float32(1).view("int32")
    assert rnp.asarray(X).flat.tolist() == X.ravel().tolist()
    with pytest.raises(ValueError, match="no dimension to change"):
        rnp.float32(1).view("int8")


def test_an_object_that_gives_itself():
    class Circle:
        def __jax_array__(self):
            return self

    circle = Circle()
    for take in (rnp.asarray, rnp.sum, rb.device_put, lambda c: rnp.ones(2) + c, lambda c: rnp.ones(2)[c]):
        with pytest.raises(TypeError, match=r"Circle\.__jax_array__ returned the object itself"):
            take(circle)


def test_objects_that_give_each_other():
    class Giver:
        def __jax_array__(self):
            return self.other

    a, b, c = Giver(), Giver(), Giver()
    a.other, b.other, c.other = b, a, rnp.array([1.0, 2.0])
    added, placed = lambda c: rnp.ones(2) + c, lambda c: rnp.ones(2).at[0].set(c)
    for take in (rnp.asarray, rnp.sum, rb.device_put, added, placed, lambda c: rnp.ones(2)[c]):
        with pytest.raises(TypeError, match=r"Giver\.__jax_array__ must return an array: .* 100 times"):
            take(a)
    a.other = c
    assert rnp.asarray(a).tolist() == [1, 2] and float(rnp.sum(a)) == 3
    assert (rnp.ones(2) + a).tolist() == [2, 3] and rnp.zeros(2).at[:].set(a).tolist() == [1, 2]


def test_vander_of_many_columns_is_one_operation():
    x = rnp.array([2.0, -1.0])
    found = rnp.vander(x, 70, increasing=True)
    assert found[:, :64].tolist() == rnp.vander(x, 64, increasing=True).tolist()
    assert rnp.vander(x, 70)[1, -3:].tolist() == [1.0, -1.0, 1.0]
    assert rnp.vander(rnp.zeros(0), 2**31).shape == (0, 2**31)


@pytest.mark.forbidden("explicit_x64_dtypes")
def test_the_array_api_standard():
    x = rnp.asarray(X)
    assert x.__array_namespace__() is rnp and x.__array_namespace__(api_version="2025.12") is rnp
    with pytest.raises(ValueError, match=r"offered in version '2025.12'"):
        x.__array_namespace__(api_version="1999.1")
    outer = rb.config.array_namespace
    try:
        rb.config.update("array_namespace", "rabbet.lax")
        assert x.__array_namespace__() is rb.lax
        with pytest.raises(rb.errors.ConfigError, match="the name of a module"):
            rb.config.update("array_namespace", "not a module")
    finally:
        rb.config.update("array_namespace", outer)
    info = rnp.__array_namespace_info__()
    assert info.default_dtypes()["real floating"] == rnp.zeros(1).dtype
    assert set(info.dtypes(kind=("bool", "signed integer"))) == {"bool", "int8", "int16", "int32", "int64"}
    with rb.config.override(explicit_x64_dtypes="warn", enable_x64=False):  # "int64" makes int32 there
        assert set(info.dtypes(kind=("bool", "signed integer"))) == {"bool", "int8", "int16", "int32"}
        assert set(info.dtypes(kind="complex floating")) == {"complex64"}
        with rb.config.override(enable_x64=True):
            assert "float64" in info.dtypes()
    assert info.default_device() in info.devices() and not info.capabilities()["boolean indexing"]
    with pytest.raises(ValueError, match="none of the kinds"):
        info.dtypes(kind="colour")
    assert x.unsafe_buffer_pointer() > 0


@pytest.mark.needs("grad")
def test_floats_viewed_as_complex_numbers_and_back_have_derivatives():
    x = rnp.array(np.float32([3, 4, 0, 2]))
    slope = rb.grad(lambda x: rnp.sum(rnp.abs(x.view("complex64")) ** 2))(x)
    np.testing.assert_allclose(slope, 2 * np.asarray(x), rtol=1e-6)
    slope = rb.grad(lambda z: rnp.sum(z.view("float32") ** 2))(x.view("complex64"))
    np.testing.assert_allclose(slope, 2 * np.conj(np.asarray(x).view("complex64")), rtol=1e-6)
    assert rb.grad(lambda x: x.to_device(rb.devices()[0]).sum())(x).tolist() == [1, 1, 1, 1]


def test_sequences_of_other_classes():
    values = {"a": rnp.ones(2), "b": rnp.zeros(2)}.values()
    for many in (values, collections.deque(values), collections.UserList(values)):
        assert rnp.stack(many).tolist() == [[1, 1], [0, 0]] and rnp.concatenate(many).tolist() == [1, 1, 0, 0]
        assert rnp.vstack(many).shape == (2, 2)
    changing = {"a": rnp.ones(2)}
    for number in (2.0, 3.0):  # nothing is kept of the first values
        changing["a"] = rnp.full(2, number)
        assert rnp.stack(changing.values()).tolist() == [[number, number]]
    for wrong in ({1.0, 2.0}, "ab", {"a": 1.0}):
        with pytest.raises(TypeError, match="stack takes a sequence of arrays, got a"):
            rnp.stack(wrong)

    class Pair:
        def __len__(self):
            return 2

        def __getitem__(self, i):
            return [float(i), 1.0]  # also beyond its end

    assert rnp.asarray(Pair()).tolist() == [[0, 1], [1, 1]]
    assert rnp.asarray(collections.deque([1, 2]), "float32").tolist() == [1, 2]


def test_ramps_are_exact():
    for dtype in ("int32", "int8", "uint8"):
        for first, last, end, width in ((10, 21, 3, 4), (100, 0, 7, 39), (3, 120, 100, 7), (9, 9, 9, 3)):
            array = np.array([first, last], dtype)
            below = [end + (first - end) * i // width for i in range(width)]
            above = [end + (last - end) * i // width for i in reversed(range(width))]
            found = rnp.pad(array, width, mode="linear_ramp", end_values=end)
            assert found.tolist() == [*below, first, last, *above]
    found = rnp.pad(rnp.array([2**31 - 1, -(2**31)]), 3, mode="linear_ramp", end_values=-5)
    assert found.tolist() == [-5, 715827879, 1431655763, 2**31 - 1, -(2**31), -1431655767, -715827886, -5]
    array = np.array([10 + 2j, 21], "complex64")
    expected = np.pad(array, 3, mode="linear_ramp", end_values=1j)
    np.testing.assert_allclose(rnp.pad(array, 3, mode="linear_ramp", end_values=1j), expected, rtol=1e-6)
    with rb.enable_x64(True):
        array = np.array([1 / 3, 2 / 3])
        expected = np.pad(array, 3, mode="linear_ramp", end_values=0.1)
        found = rnp.pad(array, 3, mode="linear_ramp", end_values=0.1)
        np.testing.assert_allclose(found, expected, rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float16", "complex64"])
def test_ramps_are_computed_in_single_precision_whatever_promotion_is_forbidden(dtype):
    array = rnp.array([3, 6], dtype)
    with rb.config.override(numpy_dtype_promotion="strict"):
        found = rnp.pad(array, 3, mode="linear_ramp")
    assert found.dtype == dtype and found.tolist() == [0, 1, 2, 3, 6, 4, 2, 0]
