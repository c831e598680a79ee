"""Small NumPy arrays are copied into memory that a program reads, where it is known to be done with it."""

import sys
import threading

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

rabbet_native = pytest.importorskip("rabbet_native")
pytestmark = pytest.mark.needs("jit")


def ones(*shape):
    return np.ones(shape, np.float32)


@pytest.fixture(autouse=True)
def compiled():
    if not rabbet_native.is_compiled():
        pytest.skip("there is no library for this Python")
    with rb.config.override(native=True):
        yield


@pytest.fixture
def made(monkeypatch):
    """Shapes of what is put on the device, while nobody is told of transfers."""
    from rabbet.runtime.arrays import transfer_guards
    from rabbet.runtime.jaxlib import adapter

    shapes, put = [], adapter.batched_device_put

    def counted(aval, sharding, values, *more):
        shapes.extend(np.shape(x) for x in values)
        return put(aval, sharding, values, *more)

    monkeypatch.setattr(adapter, "batched_device_put", counted)
    monkeypatch.setattr(transfer_guards, "wanted", False)
    return shapes


@pytest.mark.forbidden("debug_nans", "debug_infs", "disable_jit")
def test_later_calls_put_nothing_there_and_see_what_changed(made):
    f = rb.jit(lambda x, n: x + n)
    x, n = rb.device_put(ones(3)), np.float32([1, 2, 3])
    results = []
    for i in range(6):
        made.clear()
        n[1] = i
        results.append(f(x, n))
        assert (made == []) or i < 2
    n[:] = 7
    assert [r.tolist() for r in results] == [[2, 1 + i, 4] for i in range(6)]


CALLS = {
    "two results": (lambda x, n: (x + n, n * 2), lambda x, n: (x + n, n * 2)),
    "returned": (lambda x, n: (n, x + n), lambda x, n: (n.copy(), x + n)),
    "captured": (lambda x, n: x + n + CAPTURED, lambda x, n: x + n + 5),
    "unread": (lambda x, n: n + 1, lambda x, n: n + 1),
    "loop": (
        lambda x, n: lax.while_loop(lambda c: lax.lt(c[0], np.float32(50)), lambda c: c * 2 + n, x),
        lambda x, n: looped(x, n),
    ),
}
CAPTURED = rb.device_put(np.float32(5))


def looped(x, n):
    while x[0] < 50:
        x = x * 2 + n
    return x


@pytest.mark.usefixtures("captured_arrays_are_arguments")
@pytest.mark.parametrize("name", CALLS)
def test_results_are_those_of_numpy_and_stay(made, name):
    function, plain = CALLS[name]
    f = rb.jit(lambda x, n: function(x, n))
    given, found, wanted = ones(2), [], []
    for i in range(6):
        given[:] = i, i + 1
        found.append(f(ones(2), given))
        wanted.append(plain(ones(2), given))
    given[:] = 100
    assert rb.tree.map(lambda a: a.tolist(), found) == rb.tree.map(lambda a: a.tolist(), wanted)


def test_all_kinds_of_arrays_in_turns(made):
    f = rb.jit(lambda n: n + n)
    square = np.arange(12, dtype=np.float32).reshape(3, 4)
    frozen = ones(3)
    frozen.flags.writeable = False
    kinds = [ones(3), ones(), ones(0), frozen, square.T, square[::2], np.arange(3), np.array([True, False])]
    kinds += [np.arange(3, dtype=np.int16), np.arange(3).astype(">f4"), square[:, ::-1]]
    kinds += [ones(1 << 15), ones(1 << 19)]  # the latter is more than is lent
    for x in kinds:
        for i in range(3):  # again and again, as it is lent from the second time on
            assert np.array_equal(f(x if i < 2 else x.copy(order="K")), x + x)
    for _ in range(3):
        for x in kinds:
            assert np.array_equal(f(x), x + x)


def test_what_is_seldom_of_use_is_given_up(made):
    """Arrays of another shape in each call, and then of the same."""
    f = rb.jit(lambda n: n * 2)
    for _ in range(12):
        for size in (1, 2, 3):
            assert f(ones(size)).tolist() == [2] * size
    for i in range(3):
        assert f(ones(2) * i).tolist() == [2 * i] * 2


@pytest.mark.forbidden("disable_jit")
def test_transfers_are_told_and_guarded_as_before(made, monkeypatch):
    from rabbet.runtime.arrays import transfer_guards

    f, told = rb.jit(lambda n: n * 2), []
    monkeypatch.setattr(transfer_guards, "wanted", True)
    monkeypatch.setattr(transfer_guards, "told", lambda *given: told.append(given[0]))
    for i in range(5):
        assert f(ones(2) * i).tolist() == [2 * i] * 2
    assert len(told) >= 5
    monkeypatch.setattr(transfer_guards, "wanted", False)
    for i in range(5):
        assert f(ones(2) * i).tolist() == [2 * i] * 2
    with rb.transfer_guard("disallow"), pytest.raises(RuntimeError):
        f(ones(2))


def test_threads_do_not_share_it(made):
    f, wrong = rb.jit(lambda n: lax.fori_loop(0, 200, lambda i, c: c + n, n * 0)), []
    f(ones(4))

    def work(value):
        given = ones(4) * value
        for _ in range(50):
            if f(given).tolist() != [200 * value] * 4:
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.needs("pure_callback")
def test_a_program_that_is_called_while_it_runs_has_its_own(made):
    inner = []

    def again(x):
        if len(inner) < 9 and not inner.count("inside"):
            inner.append("inside")
            assert f(ones(2) * 50).tolist() == [51, 51]
            inner.remove("inside")
            inner.append("done")
        return x

    f = rb.jit(lambda n: rb.pure_callback(again, rb.typeof(n), n * 0 + 1) + n)
    for i in range(6):
        assert f(ones(2) * i).tolist() == [1 + i] * 2
    assert inner.count("done") == 6


@pytest.mark.forbidden("disable_jit")
def test_results_may_be_donated_and_deleted(made):
    f, g = rb.jit(lambda n: (n, n + 1)), rb.jit(lambda x: x * 3, donate_argnums=0)
    for i in range(6):
        same, more = f(ones(2) * i)
        assert g(same).tolist() == [3 * i] * 2
        more.delete()


@pytest.mark.forbidden("numpy_rank_promotion")
def test_long_programs_see_what_was_given(made):
    f, big = rb.jit(lambda x, n: lax.dot_general(x, x, (((1,), (0,)), ((), ()))) * n), ones(300, 300)
    x, n = rb.device_put(big), ones(300)
    results = []
    for i in range(12):
        n[:] = i
        results.append(f(x, n))
    n[:] = -1
    assert [float(r[0, 0]) for r in results] == [300 * i for i in range(12)]


def test_errors_are_told_as_before(made):
    f = rb.jit(lambda x, n: x + n)
    x = rb.device_put(ones(2))
    for i in range(4):
        assert f(x, ones(2) * i).tolist() == [1 + i] * 2
    x.delete()
    for _ in range(3):
        with pytest.raises(RuntimeError, match="deleted"):
            f(x, ones(2))


def test_nothing_is_kept(made):
    f, n, counts = rb.jit(lambda n: n + 1), ones(3), []
    for i in range(120):
        f(n)
        if i % 40 == 20:
            counts.append((sys.getrefcount(n), sys.getrefcount(n.dtype)))
    assert counts[0] == counts[-1]
