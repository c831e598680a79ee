"""The frame in C does what the frame in Python does: each case is run by both, and compared."""

import copy
import gc
import pickle
import sys
import traceback
import weakref

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax, tree

rabbet_native = pytest.importorskip("rabbet_native")
pytestmark = [
    pytest.mark.needs("jit"),
    pytest.mark.skipif(not rabbet_native.is_compiled(), reason="there is no library for this Python"),
]


def both(function, **options):
    """The function given to `jit` twice: its call is made by C, and by Python."""
    made = []
    for native in (True, False):
        with rb.config.override(native=native):
            made.append(rb.jit(lambda *args, **kwargs: function(*args, **kwargs), **options))
    ours, plain = made
    assert type(ours.func).__name__ == "Frame"
    assert type(plain.func).__name__ == "function"
    return ours, plain


def array(*values):
    return rb.device_put(np.asarray(values, np.float32))


def outcome(function, *args, **kwargs):
    """What a call returns or raises, so that it can be compared."""
    try:
        leaves, structure = tree.flatten(function(*args, **kwargs))
    except Exception as error:
        return type(error), str(error), getattr(error, "__notes__", None)
    return structure, [(x.tolist(), x.aval, x.spec) for x in leaves]


X, Y = np.float32(2), np.arange(3, dtype=np.float32)
CALLS = {
    "an array": lambda f: f(array(1, 2)),
    "a number": lambda f: f(3),
    "numbers": lambda f: f(3, 2.5),
    "true": lambda f: f(True),
    "of NumPy": lambda f: f(X, Y),
    "a dict": lambda f: f({"b": array(1), "a": [array(2), (3, None)]}),
    "another order": lambda f: f({"a": [array(2), (3, None)], "b": array(1)}),
    "another dict": lambda f: f({"a": array(2), "c": array(1)}),
    "a shorter list": lambda f: f([array(1)]),
    "a list": lambda f: f([array(1), array(2)]),
    "nothing": lambda f: f(),
    "None": lambda f: f(None),
    "keywords": lambda f: f(array(1), scale=array(3), shift={"by": 2.0}),
    "other keywords": lambda f: f(array(1), shift={"by": 2.0}),
    "a keyword of a number": lambda f: f(array(1), scale=4),
    "many": lambda f: f(*[array(i) for i in range(40)]),
    "a text": lambda f: f("no"),
    "an object": lambda f: f([Ellipsis]),
    "another shape": lambda f: f(array(1, 2, 3)),
    "keys that are not sorted": lambda f: f({"a": 1, 2: 3}),
}


@pytest.mark.forbidden("disable_jit")
@pytest.mark.parametrize("out", ["same", "sum", "dict", "list"])
def test_calls_in_turns_give_what_the_frame_in_python_gives(out):
    makes = {
        "same": lambda *args, **kwargs: (args, kwargs),
        "sum": lambda *args, **kwargs: sum([x + 0 for x in tree.leaves((args, kwargs))], np.float32(0)),
        "dict": lambda *args, **kwargs: {"z": args, "k": kwargs, "a": None},
        "list": lambda *args, **kwargs: [x + 1 for x in tree.leaves((args, kwargs))],
    }
    ours, plain = both(makes[out])
    for _ in range(3):
        for name, call in CALLS.items():
            assert outcome(call, ours) == outcome(call, plain), name


@pytest.mark.parametrize("name", CALLS)
def test_a_call_alone_gives_it_too(name):
    ours, plain = both(lambda *args, **kwargs: tree.map(lambda x: x + 1, (args, kwargs)))
    for _ in range(3):
        assert outcome(CALLS[name], ours) == outcome(CALLS[name], plain)


@pytest.mark.forbidden("disable_jit")
def test_static_and_donated_arguments():
    ours, plain = both(lambda n, x: x * n, static_argnums=0)
    for n in (2, 3, 2, 2.0, True, [1]):
        assert outcome(ours, n, array(1, 2)) == outcome(plain, n, array(1, 2))
    for function in both(lambda x: x + 1, donate_argnums=0):
        x = array(1, 2)
        function(x)
        assert x.is_deleted()
        with pytest.raises(rb.errors.DeletedArrayError, match="argument 0"):
            function(x)
        assert function(2).tolist() == function(2).tolist() == 3


def test_what_is_deleted_is_said():
    said = []
    for function in both(lambda d: d["a"] + d["b"]):
        given = {"a": array(1), "b": array(2)}
        function(given)
        given["b"].delete()
        with pytest.raises(rb.errors.DeletedArrayError) as caught:
            function(given)
        said.append((str(caught.value), caught.value.__notes__))
    assert said[0] == said[1]


@pytest.mark.forbidden("debug_nans", "disable_jit")
def test_settings_count():
    ours, _ = both(lambda x: x / x)
    assert np.isnan(ours(array(0))[0])
    with rb.config.override(debug_nans=True), pytest.raises(FloatingPointError):
        ours(array(0))
    traced = []
    with rb.config.override(native=True):
        function = rb.jit(lambda x: traced.append(type(x).__name__) or x)
    function(array(1))
    with rb.config.override(disable_jit=True):
        function(array(1))
    function(array(1))
    assert traced == ["Tracer", "Array"]


@pytest.mark.forbidden("disable_jit")
def test_forgotten_programs_are_made_again():
    traced = []
    with rb.config.override(native=True):
        function = rb.jit(lambda d: traced.append(1) or d["a"])
    for _ in range(3):
        function({"a": array(1)})
    function.clear_cache()
    for _ in range(3):
        function({"a": array(1)})
    assert len(traced) == 2


@pytest.mark.needs("grad", "vmap")
def test_under_transformations_it_is_as_any_function():
    ours, plain = both(lambda x: lax.sin(x))
    for function in (ours, plain):
        assert rb.grad(function)(2.0).tolist() == pytest.approx(np.cos(2.0), abs=1e-6)
        assert rb.vmap(function)(array(1, 2)).shape == (2,)
    assert rb.grad(ours).__name__ == rb.grad(plain).__name__
    assert rb.grad(ours).__doc__ == rb.grad(plain).__doc__


def shown(x, *, scale=1):
    """Its docstring."""
    return x * scale


def test_it_is_called_as_the_function_is():
    with rb.config.override(native=True):
        ours = rb.jit(shown)
    assert (ours.__name__, ours.__doc__, ours.__wrapped__) == ("shown", "Its docstring.", shown)
    assert (ours.func.__name__, ours.func.__doc__, ours.func.__module__) == (
        "shown", "Its docstring.", shown.__module__
    )  # fmt: skip
    assert weakref.ref(ours)() is ours and weakref.ref(ours.func)() is ours.func
    assert copy.copy(ours) is ours
    assert repr(ours).startswith("<jit of shown (")


def test_a_traceback_shows_frames_of_users_alone():
    def fails(x):
        raise ValueError("mine")

    found = []
    for function in both(fails):
        try:
            with rb.config.override(traceback="fold"):
                function(array(1))
        except ValueError as error:
            found.append([frame.name for frame in traceback.extract_tb(error.__traceback__)])
            assert error.__context__ is None and error.__cause__ is None
    assert found[0] == found[1] and found[0][-1] == "fails"


def test_what_no_exception_is_goes_through():
    class Stop(BaseException):
        pass

    def stops(x):
        raise Stop

    ours, _ = both(stops)
    with pytest.raises(Stop):
        ours(array(1))


def test_a_function_that_nobody_has_is_freed():
    def make():
        with rb.config.override(native=True):
            function = rb.jit(lambda d: {"s": d["a"] + 1})
        function({"a": array(1)})
        return weakref.ref(function.func), function.func

    ref, frame = make()
    frame.round = frame  # in a cycle of its own
    del frame
    gc.collect()
    assert ref() is None


def leaking(call):
    """How many references and objects are there more after calls."""
    for _ in range(50):
        call()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(5000):
        call()
    gc.collect()
    return sys.getallocatedblocks() - before


@pytest.mark.parametrize("name", CALLS)
def test_calls_keep_nothing(name):
    with rb.config.override(native=True):
        function = rb.jit(lambda *args, **kwargs: {"a": (args, kwargs), "b": [1]})
    given = []
    CALLS[name](lambda *args, **kwargs: given.append((args, kwargs)))
    (args, kwargs) = given[0]
    if name in ("a text", "an object", "keys that are not sorted", "many"):  # slow, or the way in Python
        pytest.skip("not a call in C")
    arrays = [x for x in tree.leaves(given[0]) if type(x) is rb.Array]
    counts = [sys.getrefcount(x) for x in arrays]
    assert leaking(lambda: function(*args, **kwargs)) < 500
    assert [sys.getrefcount(x) for x in arrays] == counts


def test_failing_calls_keep_nothing():
    with rb.config.override(native=True):
        function = rb.jit(lambda d: d["a"] + d["b"])
    given = {"a": array(1), "b": array(2)}
    function(given)
    given["b"].delete()
    counts = []
    for _ in range(100):
        with pytest.raises(rb.errors.DeletedArrayError):
            function(given)
        counts.append(sys.getrefcount(given["a"]))
    assert counts[-1] <= counts[0] + 1


def test_another_thread_may_change_what_is_given():
    import threading

    ours, _ = both(lambda d: [x + 1 for x in tree.leaves(d)])
    given, ended = {"a": [array(1), array(2)]}, threading.Event()

    def change():
        while not ended.is_set():
            given["a"] = [array(1), array(2)]
            given["a"].append(array(3))

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(300):
            assert len(ours(given)) in (2, 3)
    finally:
        ended.set()
        thread.join()


@pytest.mark.skipif(not hasattr(__import__("signal"), "setitimer"), reason="no timers here")
def test_what_a_signal_handler_raises_is_heard():
    import signal
    import time

    class Late(Exception):
        pass

    def ring(number, frame):
        raise Late

    ours, _ = both(lambda d: {"a": d["a"] + 1})
    given = {"a": array(1)}
    ours(given)

    def again(until):  # by itself: at a loop's jump back CPython 3.13 may miss a handler of the same function
        while time.monotonic() < until:
            ours(given)

    before = signal.signal(signal.SIGALRM, ring)
    try:
        for after in np.linspace(1e-4, 2e-3, 20):
            until = time.monotonic() + 30
            with pytest.raises(Late):
                signal.setitimer(signal.ITIMER_REAL, after)
                again(until)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_pickling_is_by_what_jit_was_asked():
    with rb.config.override(native=True):
        ours = rb.jit(shown)
    again = pickle.loads(pickle.dumps(ours))
    assert again(array(2)).tolist() == [2]
