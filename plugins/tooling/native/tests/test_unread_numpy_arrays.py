"""NumPy arrays that a program does not read are not put on the device, by the frame in C and in Python."""

import sys

import numpy as np
import pytest
import rabbet as rb
from rabbet import tree

rabbet_native = pytest.importorskip("rabbet_native")
pytestmark = pytest.mark.needs("jit")


def jitted(function, native, **options):
    with rb.config.override(native=native):
        return rb.jit(lambda *args, **kwargs: function(*args, **kwargs), **options)


@pytest.fixture(params=[True, False], ids=["C", "Python"])
def native(request):
    if request.param and not rabbet_native.is_compiled():
        pytest.skip("there is no library for this Python")
    return request.param


@pytest.fixture
def made(monkeypatch):
    """Shapes of what is put on the device, from the moment on when it is cleared."""
    from rabbet.runtime.jaxlib import adapter

    shapes, put = [], adapter.batched_device_put

    def counted(aval, sharding, values, *more):
        shapes.extend(np.shape(x) for x in values)
        return put(aval, sharding, values, *more)

    monkeypatch.setattr(adapter, "batched_device_put", counted)
    return shapes


CALLS = {
    "arrays": lambda f, x, y: f(x, y),
    "pytrees": lambda f, x, y: f({"x": x, "n": None}, [y, 3]),
    "by name": lambda f, x, y: f(x, y=y),
    "static": lambda f, x, y: f(x, y, "static"),
}
FUNCTIONS = {
    "one result": lambda x, y, s=None: tree.leaves(y)[0] * 2,
    "two results": lambda x, y, s=None: (tree.leaves(y)[0] * 2, tree.leaves(y)[0] + 1),
    "captured": lambda x, y, s=None: tree.leaves(y)[0] * rb.device_put(np.float32([3, 4])),
}


@pytest.mark.usefixtures("captured_arrays_are_arguments")
@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_what_is_not_read_stays(native, made, call, function):
    f = jitted(FUNCTIONS[function], native, **({"static_argnums": 2} if call == "static" else {}))
    x, y = np.arange(5, dtype=np.float32), np.float32([1, 2])
    first = tree.map(lambda a: a.tolist(), CALLS[call](f, x, y))
    assert tree.leaves(first)[0] in ([2, 4], 2, [3, 8], 3)
    for i in range(4):
        made.clear()
        again = CALLS[call](f, x, y + i)
        assert x.shape not in made
        assert tree.leaves(tree.map(lambda a: a.tolist(), again)) != tree.leaves(first) or i == 0


def test_a_program_that_reads_all_gets_all(native):
    """Of one function, where what another of its programs leaves unread is read."""
    f = jitted(lambda x, y: x + y if y.ndim else x.shape[0] + y, native)
    x = np.float32([1, 2])
    for i in range(4):
        assert f(x, np.float32(3)).tolist() == 5
        assert f(x + i, np.float32([1, 2])).tolist() == [2 + i, 4 + i]
        assert f(rb.device_put(x), np.float32([1, 2])).tolist() == [2, 4]
        assert f(np.zeros((3, 2), np.float32), np.float32(3)).tolist() == 6


@pytest.mark.forbidden("disable_jit")
def test_it_is_checked_and_told_as_before(native):
    f = jitted(lambda x, y: y / y, native)
    x, y = np.float32([1, 2]), np.float32(1)
    for _ in range(3):
        assert f(x, y).tolist() == 1
    with rb.config.override(debug_nans=True):
        for _ in range(3):
            assert f(x, y).tolist() == 1
            with pytest.raises(FloatingPointError):
                f(x, np.float32(0))
    with rb.transfer_guard("disallow"), pytest.raises(RuntimeError):
        f(x, y)
    with rb.config.override(disable_jit=True):
        assert f(x, y).tolist() == 1
    assert rb.jit(lambda x: f(x, x[0]))(x).tolist() == 1


def test_donated_arguments_are_put_there(native):
    f = jitted(lambda x, y: y + 1, native, donate_argnums=1)
    for _ in range(3):
        assert f(np.float32([1, 2]), np.float32(1)).tolist() == 2


def test_arrays_that_change_between_calls(native):
    f = jitted(lambda x, y: x[0] + x[1] if y.ndim else y + 0, native)
    x = np.float32([1, 2])
    for i in range(4):
        x[0] = i
        assert f(x, np.float32(1)).tolist() == 1
        assert f(x, np.float32([1])).tolist() == 2 + i


@pytest.mark.forbidden("debug_nans", "debug_infs")
def test_kinds_of_unread_arrays_and_settings_in_turns(native, made):
    f = jitted(lambda x, y: x.size + y, native)
    y = rb.device_put(np.float32(1))
    given = [np.zeros(3, np.float32), np.zeros(3, np.int32), np.zeros((2, 2), np.float32)]
    wide = np.zeros(3, np.int64)
    for i in range(4):
        for x in given:
            made.clear()
            assert f(x, y).tolist() == x.size + 1
            assert i < 2 or x.shape not in made
        with rb.config.override(enable_x64=i % 2 == 1):
            assert f(wide, y).tolist() == f(given[0], y).tolist() == 4


def test_calls_with_unread_arrays_keep_nothing(native):
    f, x, y = jitted(lambda x, y: y + 1, native), np.zeros(3, np.float32), rb.device_put(np.float32(1))
    counts = []
    for i in range(120):
        f(x, y)
        if i % 40 == 20:
            counts.append((sys.getrefcount(x), sys.getrefcount(x.dtype), sys.getrefcount(y.spec)))
    assert counts[0] == counts[-1]
