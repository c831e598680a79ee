"""Arrays: what NumPy programs expect of them, and what they refuse."""

import collections.abc
import copy
import gc
import math
import operator
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax, typeof
from rabbet.errors import DeletedArrayError
from rabbet.extend.transform import context
from rabbet.runtime.evaluation import EVALUATION

from .toys import DTYPES, array, put, small


# --------------------------------------------------------------------------------------------- what it is
def test_what_an_array_tells_of_itself():
    x = put(np.zeros((2, 3), np.int16))
    assert (x.shape, x.ndim, x.size, x.itemsize, x.nbytes, len(x)) == ((2, 3), 2, 6, 2, 12, 2)
    assert x.dtype == np.int16 and x.weak_type is False
    assert x.device in rb.devices() and x.devices() == {x.device}
    assert x.sharding.device_set == {x.device}
    assert x.is_fully_addressable and x.is_fully_replicated and not x.committed
    assert x.addressable_data(0) is x
    with pytest.raises(IndexError, match="there is no part 1"):
        x.addressable_data(1)
    assert isinstance(x, rb.Array)


@pytest.mark.parametrize("name", ["shape", "dtype", "aval_of_mine"])
def test_arrays_are_immutable(name):
    with pytest.raises(AttributeError):
        setattr(put(np.ones(3)), name, 1)


def test_items_cannot_be_assigned_and_the_message_says_what_to_do():
    x = put(np.ones(3, np.float32))
    with pytest.raises(TypeError, match=r"x\.at\[|\.at\["):
        x[0] = 5.0


def test_length_iteration_and_membership():
    x = put(np.arange(6, dtype=np.int32).reshape(3, 2))
    assert len(x) == 3
    rows = list(x)
    assert [r.tolist() for r in rows] == [[0, 1], [2, 3], [4, 5]]
    assert all(type(r) is rb.Array for r in rows)
    _, middle, _ = x
    assert middle.tolist() == [2, 3]
    assert [r.tolist() for r in reversed(x)] == [[4, 5], [2, 3], [0, 1]]
    with pytest.raises(TypeError, match=r"without dimensions|0-d"):
        len(array(1.0))
    with pytest.raises(TypeError, match=r"without dimensions|0-d"):
        iter(array(1.0))
    assert (2 in put(np.int32([1, 2]))) is True
    assert (7 in put(np.int32([1, 2]))) is False


def test_arrays_are_not_hashable_and_python_knows():
    x = put(np.ones(3, np.float32))
    assert not isinstance(x, collections.abc.Hashable)
    with pytest.raises(TypeError, match="unhashable type: 'Array'"):
        hash(x)
    with pytest.raises(TypeError, match="unhashable"):
        assert {x: 1}


# ------------------------------------------------------------------------------------------------ as text
@pytest.mark.narrow
def test_repr_and_str():
    assert repr(put(np.float32([1, 2.5]))) == "Array([1. , 2.5], dtype=float32)"
    assert repr(array(3, "int32")) == "Array(3, dtype=int32)"
    assert repr(lax.add(1, 2)) == "Array(3, dtype=int32, weak_type=True)"
    assert repr(put(np.zeros((0, 3), np.float32))) == "Array([], shape=(0, 3), dtype=float32)"
    assert repr(array(True)) == "Array(True, dtype=bool)"
    assert (
        repr(put(np.arange(4, dtype=np.int32).reshape(2, 2)))
        == "Array([[0, 1],\n       [2, 3]], dtype=int32)"
    )
    assert str(put(np.float32([1, 2.5]))) == "[1.  2.5]"
    assert str(array(2.5, "float32")) == "2.5"


def test_repr_of_many_elements_is_short():
    assert len(repr(put(np.arange(100000, dtype=np.float32)))) < 200


def test_format():
    x = array(3.14159, "float32")
    assert f"{x:.2f}" == "3.14" and f"{x}" == str(x)
    assert f"{array(7, 'int32'):04d}" == "0007"
    v = put(np.float32([1, 2]))
    assert f"{v}" == "[1. 2.]" and f"{v:>10}" == "   [1. 2.]"


# ------------------------------------------------------------------------ Python numbers and NumPy arrays
def test_conversions_of_arrays_without_dimensions():
    assert float(array(2.5, "float32")) == 2.5 and type(float(array(2, "int32"))) is float
    assert int(array(2.9, "float32")) == 2 and type(int(array(2, "int8"))) is int
    assert complex(array(1 + 2j, "complex64")) == 1 + 2j
    assert bool(array(0.0, "float32")) is False and bool(array(5, "int32")) is True
    assert operator.index(array(3, "uint8")) == 3 and [10, 20, 30][array(1, "int32")] == 20
    assert list(range(array(3, "int32"))) == [0, 1, 2]
    assert math.sqrt(array(4.0, "float32")) == 2.0
    assert round(float(array(2.5, "float32"))) == 2
    assert array(2**62, "int64").item() == 2**62


def test_bool_of_one_element():
    assert bool(put(np.float32([[5]]))) is True


@pytest.mark.parametrize("convert", [float, int, complex])
def test_arrays_with_dimensions_do_not_convert(convert):
    with pytest.raises(
        TypeError, match=rf"only an array without dimensions converts to {convert.__name__}, got f32\[1\]"
    ):
        convert(put(np.ones(1, np.float32)))


def test_the_truth_of_many_elements_is_ambiguous():
    for n in (0, 2):
        with pytest.raises(
            ValueError, match=rf"truth value of an array of {n} elements \(f32\[{n}\]\) is ambiguous.*any"
        ):
            bool(put(np.ones(n, np.float32)))


@pytest.mark.parametrize("x", [2.0, True])
def test_only_integers_are_an_index(x):
    with pytest.raises(TypeError, match="only integer arrays without dimensions can be an index"):
        operator.index(array(x))
    with pytest.raises(TypeError, match=r"can be an index, got i32\[1\]"):
        operator.index(put(np.int32([1])))


def test_complex_numbers_do_not_convert_to_real_ones():
    for convert in (float, int):
        with pytest.raises(
            TypeError,
            match=rf"a complex array does not convert to {convert.__name__} \(c64\[\]\); take x.real",
        ):
            convert(array(1 + 2j, "complex64"))


def test_item_tolist_tobytes():
    host = np.float32([[1, 2], [3, 4]])
    x = put(host)
    assert x.tolist() == host.tolist() and type(x.tolist()[0][0]) is float
    assert x.item(3) == 4.0 and x.item(1, 0) == 3.0
    assert x.tobytes() == host.tobytes() and x.tobytes("F") == host.tobytes("F")
    with pytest.raises(ValueError, match="size 1"):
        x.item()


def test_numpy_array():
    x = put(np.float32([1, 2]))
    host = np.asarray(x)
    assert host.dtype == np.float32 and host.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        host[0] = 7
    assert np.asarray(x, np.float64).dtype == np.float64
    assert np.asarray(x, dtype="int8").tolist() == [1, 2]
    own = np.array(x)
    own[0] = 7
    assert x.tolist() == [1, 2]
    assert np.array(x, copy=True).flags.writeable
    with pytest.raises(ValueError, match="copy"):
        np.array(x, dtype=np.float64, copy=False)
    assert np.array(x, copy=False).tolist() == [1, 2]


def test_numpy_functions_take_arrays():
    x = put(np.float32([1, 4]))
    assert np.sqrt(x).tolist() == [1, 2] and type(np.sqrt(x)) is np.ndarray
    assert np.stack([x, x]).shape == (2, 2)
    assert np.asarray([x[0], x[1]]).tolist() == [1, 4]
    np.testing.assert_allclose(x, [1, 4])


def test_writing_to_the_numpy_array_that_was_given_changes_nothing():
    host = np.ones(1000, np.float32)
    x = put(host)
    y = x + host
    host[:] = 9
    assert float(np.asarray(x).max()) == 1.0 and float(np.asarray(y).max()) == 2.0


@pytest.mark.parametrize(
    "host",
    [
        np.arange(12, dtype=np.float32).reshape(3, 4).T,
        np.arange(10, dtype=np.int32)[::2],
        np.arange(10, dtype=np.int32)[::-1],
        np.ones((2, 0, 3), np.float32),
        np.asarray(3.0),
        np.arange(3, dtype=">f4"),
        np.arange(3, dtype=">i2"),
        np.broadcast_to(np.float32(2), (3, 3)),
        np.ones(5, np.float32)[1:],
    ],
    ids=lambda h: f"{h.dtype.str}{h.shape}{h.strides}",
)
def test_numpy_arrays_of_any_layout(host):
    assert rb.device_put(host).tolist() == host.tolist()


@pytest.mark.parametrize(
    "host",
    [np.asarray(["a"]), np.asarray([object()]), np.zeros(1, "M8[D]"), np.zeros(2, [("a", "f4")])],
    ids=["text", "object", "date", "record"],
)
def test_numpy_arrays_of_other_dtypes_are_refused_by_name(host):
    with pytest.raises(TypeError, match=host.dtype.name.split("[")[0].rstrip("0123456789")):
        rb.device_put(host)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python classes can offer buffers from 3.12 on")
def test_the_buffer_protocol():
    x = put(np.float32([1, 2, 3]))
    view = memoryview(x)
    assert view.readonly and view.format == "f" and view.shape == (3,) and view.tolist() == [1, 2, 3]
    with pytest.raises((BufferError, TypeError)):
        memoryview(x).cast("B")[0] = 1


def test_dlpack_to_numpy_and_back():
    x = put(np.arange(16, dtype=np.float32))
    host = np.from_dlpack(x)
    assert host.tolist() == x.tolist()
    back = rb.runtime.transfer.from_dlpack(host.copy())
    assert back.tolist() == x.tolist() and back.dtype == np.float32
    assert x.__dlpack_device__()[0] == 1
    with pytest.raises(TypeError, match="DLPack"):
        rb.runtime.transfer.from_dlpack([1, 2])


# ------------------------------------------------------------------------------------- pickles and copies
@pytest.mark.parametrize("dtype", DTYPES)
def test_pickling_keeps_values_and_types(dtype):
    x = small(dtype)
    back = pickle.loads(pickle.dumps(x))
    assert type(back) is rb.Array and back.aval is x.aval and back.tolist() == x.tolist()


def test_pickling_keeps_weak_types_and_empty_shapes():
    weak = lax.add(1, 2)
    assert pickle.loads(pickle.dumps(weak)).aval is weak.aval
    empty = put(np.zeros((0, 3), np.float32))
    assert pickle.loads(pickle.dumps(empty)).shape == (0, 3)


def test_copies():
    x = put(np.float32([1, 2]))
    shallow = copy.copy(x)
    deep = copy.deepcopy(x)
    x.delete()
    assert deep.tolist() == shallow.tolist() == [1, 2]  # neither shares the deletion
    buffers = [y.unsafe_buffer_pointer() for y in (deep, shallow, copy.copy(deep), copy.deepcopy(deep))]
    assert len(set(buffers)) == 4  # nor the memory: who writes into one through a pointer changes it alone
    tree = copy.deepcopy({"a": [deep]})
    assert tree["a"][0] is not deep and tree["a"][0].tolist() == [1, 2]


# ----------------------------------------------------------------------------- deletion, waiting, listing
def test_a_deleted_array_says_so():
    x = put(np.float32([1, 2]))
    assert not x.is_deleted()
    x.delete()
    x.delete()
    assert x.is_deleted()
    assert repr(x) == "Array(f32[2], deleted)"
    assert (x.shape, x.dtype) == ((2,), np.float32)


@pytest.mark.parametrize(
    "use",
    [
        np.asarray,
        lambda x: x + 1,
        lambda x: x.tolist(),
        lambda x: x.block_until_ready(),
        lambda x: np.from_dlpack(x),
        pickle.dumps,
        copy.deepcopy,
        str,
        lambda x: rb.device_put(x, rb.devices()[0]) + 1,
        lambda x: x[0],
        rb.device_get,
        lambda x: x.copy_to_host_async(),
        lambda x: lax.add(x, x),
        lambda x: bool(x[0]),
        rb.block_until_ready,
    ],
)
def test_using_a_deleted_array_is_an_error_that_names_it(use):
    x = put(np.float32([1, 2]))
    x.delete()
    with pytest.raises(DeletedArrayError, match=r"array f32\[2\] has been deleted or donated"):
        use(x)


def test_waiting():
    x = put(np.ones((50, 50), np.float32))
    y = x
    for _ in range(5):
        y = y * x
    assert y.block_until_ready() is y and y.is_ready()
    tree = {"a": y, "b": 3, "c": None}
    assert rb.block_until_ready(tree) is tree
    rb.copy_to_host_async(tree)


def test_live_arrays_lists_what_lives():
    marker = put(np.full((7, 13), 5, np.int16))
    found = [x for x in rb.live_arrays() if x.shape == (7, 13)]
    assert len(found) == 1 and found[0].dtype == np.int16 and found[0].tolist() == marker.tolist()
    del found, marker
    gc.collect()
    assert not [x for x in rb.live_arrays() if x.shape == (7, 13)]
    assert rb.live_arrays("cpu") is not None


def test_live_arrays_do_not_list_the_deleted():
    x = put(np.zeros((11, 17), np.int8))
    x.delete()
    assert not [a for a in rb.live_arrays() if a.shape == (11, 17)]


def test_clear_caches_forgets_programs_but_not_arrays():
    x = put(np.float32([1, 2]))
    y = x + 1.0
    assert lax.add.op().programs
    rb.clear_caches()
    assert not lax.add.op().programs
    assert (x + 1.0).tolist() == y.tolist() == [2, 3]


# ------------------------------------------------------------------------------------ putting and getting
def test_device_put_and_get_of_pytrees():
    tree = {"a": [1, 2.5, np.arange(3)], "b": (np.ones((2, 2)), None)}
    on_device = rb.device_put(tree)
    assert type(on_device["a"][0]) is rb.Array and on_device["b"][1] is None
    assert typeof(on_device["a"][0]).weak_type
    back = rb.device_get(on_device)
    assert type(back["b"][0]) is np.ndarray and back["a"][2].tolist() == [0, 1, 2]
    assert rb.device_get({"x": "text", "n": 3}) == {"x": "text", "n": 3}


def test_device_put_to_a_device_commits():
    cpu = rb.devices("cpu")[0]
    x = rb.device_put(np.ones(3, np.float32), cpu)
    assert x.committed and x.devices() == {cpu}
    assert not rb.device_put(np.ones(3, np.float32)).committed
    assert (x + 1).committed
    assert rb.device_put(x) is x
    assert x.to_device(cpu).device is cpu


@pytest.mark.parametrize("value", ["text", object(), {1, 2}])
def test_device_put_of_what_is_no_array(value):
    with pytest.raises(TypeError, match=f"{type(value).__name__} is not an array"):
        rb.device_put(value)


def test_device_put_to_what_is_no_device():
    with pytest.raises(TypeError, match="must be a Device"):
        rb.device_put(1.0, "cpu")


def test_two_devices():
    code = textwrap.dedent("""
        import numpy as np, rabbet as rb
        from rabbet import lax
        a, b = rb.devices()
        x, y = rb.device_put(np.float32([1, 2]), a), rb.device_put(np.float32([3, 4]), b)
        try:
            x + y
        except ValueError as error:
            print(error)
        free = rb.device_put(np.float32([10, 20]))
        out = y + free
        assert out.device is b and out.committed and out.tolist() == [13, 24], out
        assert (free + y).device is b
        assert (y * 2.0).device is b and (2.0 * y).device is b and (y + np.float32([1, 1])).device is b
        moved = rb.device_put(x, b)
        assert moved.device is b and (moved + y).tolist() == [4, 6] and x.device is a
        assert x.to_device(b).device is b
        assert lax.sin(y).device is b and y[0].device is b
        with rb.default_device(b):
            assert rb.device_put(1.0).device is b and not rb.device_put(1.0).committed
            assert lax.add(1, 2).device is b
            assert (free + 1).device is b and free.device is a and (x + 1).device is a
        assert lax.add(1, 2).device is a
        tree = rb.device_put({"a": 1.0, "b": [2.0]}, b)
        assert tree["a"].device is b and tree["b"][0].device is b
        assert {d.device for d in rb.live_arrays()} == {a, b}
        import pickle
        assert pickle.loads(pickle.dumps(y)).device is a
        print("fine")
    """)
    import os

    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "RABBET_NUM_CPU_DEVICES": "2"},
    )
    assert done.returncode == 0, done.stderr
    first, *_, last = done.stdout.splitlines()
    assert first.startswith(
        "add got arrays that were put on different devices: argument 0, f32[2], is on cpu:0, "
        "and argument 1, f32"
    )
    assert last == "fine"


# ------------------------------------------------------------------------------------------------ methods
def test_methods_of_core_alone():
    x = put(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert x.T.tolist() == np.asarray(x).T.tolist() and x.transpose(1, 0).shape == x.transpose(
        (1, 0)
    ).shape == (3, 2)
    assert x.mT.shape == (3, 2) and x.transpose().shape == (3, 2)
    assert x.astype("int8").dtype == np.int8 and x.astype("float64").dtype == np.float64
    z = put(np.complex64([1 + 2j]))
    assert (
        z.real.tolist() == [1] and z.imag.tolist() == [2] and x.imag.tolist() == [[0] * 3] * 2 and x.real is x
    )
    with pytest.raises(ValueError, match="at least two dimensions"):
        put(np.ones(2)).mT  # noqa: B018
    with pytest.raises(ValueError, match="axis 5 is out of range"):
        x.transpose(0, 5)


def test_the_bottom_interpreter_is_evaluation():
    assert context.interpreter is EVALUATION and EVALUATION.describe() == "evaluation"
