"""Donated arguments in C as in Python, results that are registered classes, and what has another version."""

import dataclasses
import gc
import importlib
import sys
import types
import warnings
from collections import namedtuple

import numpy as np
import pytest
import rabbet as rb
from rabbet import tree
from rabbet.errors import DeletedArrayError
from rabbet.extend.wrapping import FrameParts

rabbet_native = pytest.importorskip("rabbet_native")
compiled = pytest.mark.skipif(not rabbet_native.is_compiled(), reason="there is no library for this Python")
pytestmark = pytest.mark.needs("jit")


@pytest.fixture(params=[True, False], ids=["C", "Python"])
def jit(request):
    """``rb.jit``, whose functions are called in C or in Python."""
    if request.param and not rabbet_native.is_compiled():
        pytest.skip("there is no library for this Python")

    def made(function, **options):
        with rb.config.override(native=request.param):
            return rb.jit(function, **options)

    return made


def jit_in_c(function, **options):
    """``rb.jit``, with a function that is called in C also where `RABBET_NATIVE` says otherwise."""
    with rb.config.override(native=True):
        return rb.jit(function, **options)


def array(*values):
    return rb.device_put(np.asarray(values, np.float32))


def called_in_python(call):
    """The names of Rabbet's functions in Python that a call runs."""
    names = []
    sys.setprofile(lambda frame, event, _: event == "call" and names.append(frame.f_code.co_qualname))
    try:
        call()
    finally:
        sys.setprofile(None)
    return names[1:]


HELD = []
GIVEN = {
    "one": (lambda x: x + 1, {"donate_argnums": 0}, lambda: (array(1, 2),), {}),
    "one of two": (lambda x, y: (x + y, y * 2), {"donate_argnums": 1},
                   lambda: (array(1), array(2)), {}),
    "by name": (lambda x: x + 1, {"donate_argnames": "x"}, lambda: (), {"x": lambda: array(1)}),
    "a dict": (lambda d: {"a": d["b"], "b": d["a"] + 1}, {"donate_argnums": 0},
               lambda: ({"a": array(1), "b": array(2)},), {}),
    "beside a static one": (lambda x, how: x + len(how),
                            {"donate_argnums": 0, "static_argnums": 1}, lambda: (array(1), "ab"), {}),
    "captured arrays": (lambda x: x + HELD[0], {"donate_argnums": 0}, lambda: (array(1, 2),), {}),
}  # fmt: skip


@pytest.mark.usefixtures("captured_arrays_are_arguments")
@pytest.mark.forbidden("debug_nans", "debug_infs", "disable_jit")
@compiled
@pytest.mark.parametrize("name", GIVEN)
def test_it_is_run_and_deleted_in_c(name):
    function, options, args, kwargs = GIVEN[name]
    HELD[:] = [array(3, 4)]
    called = jit_in_c(function, **options)
    for i in range(4):
        given, named = args(), {key: make() for key, make in kwargs.items()}
        names = called_in_python(lambda given=given, named=named: called(*given, **named))
        deleted = [x.is_deleted() for x in tree.leaves((given, named)) if type(x) is rb.Array]
        assert any(deleted) and all(deleted) == (name != "one of two")
        assert not names or i < 2


@pytest.mark.forbidden("disable_jit")
def test_what_was_donated_is_gone(jit):
    step = jit(lambda x, y: x + y, donate_argnums=0)
    for _ in range(3):
        x, y = array(1, 2), array(3, 4)
        assert step(x, y).tolist() == [4, 6]
        with pytest.raises(DeletedArrayError, match=r"f32\[2\] has been deleted or donated"):
            x + 1
        with pytest.raises(DeletedArrayError, match="argument 0"):
            step(x, y)
        assert y.tolist() == [3, 4]
        with pytest.raises(ValueError, match="more than once, as argument 'x' and argument 'y', and is"):
            step(y, y)
        assert y.tolist() == [3, 4]


@pytest.mark.forbidden("disable_jit")
def test_an_array_that_shares_its_memory_is_copied(jit):
    step, x = jit(lambda x: x + 1, donate_argnums=0), array(1, 2)
    part = x.addressable_data(0)
    kept = part if part is not x else x + 0
    host = np.from_dlpack(x)  # another library has it
    for _ in range(3):
        y = array(1, 2)
        assert step(y).tolist() == [2, 3]
        assert y.is_deleted()
    assert step(x).tolist() == [2, 3]
    assert x.is_deleted()
    assert host.tolist() == [1, 2]
    del kept


@pytest.mark.needs("pure_callback")
def test_what_the_program_raises_is_told(jit):
    asked = {"fails": False}

    def on_host(x):
        if asked["fails"]:
            raise ArithmeticError("of the callback")
        return np.asarray(x)

    shape = rb.ShapeDtypeStruct((2,), "float32")
    step = jit(lambda x: rb.pure_callback(on_host, shape, x) + x, donate_argnums=0)
    for fails in (False, False, True, False):
        asked["fails"] = fails
        if fails:
            with pytest.raises(Exception, match="of the callback"):
                rb.block_until_ready(step(array(1, 2)))
        else:
            assert step(array(1, 2)).tolist() == [2, 4]


@pytest.mark.forbidden("disable_jit")
def test_memory_of_which_there_is_no_use(jit):
    step = jit(lambda x: x.sum(), donate_argnums=0)
    x = array(1, 2)
    with pytest.warns(UserWarning, match="there to use their memory: argument 'x'"):
        assert step(x).tolist() == 3
    assert x.is_deleted()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            x = array(1, 2)
            assert step(x).tolist() == 3
            assert x.is_deleted()


@pytest.mark.forbidden("disable_jit")
@compiled
def test_calls_keep_nothing():
    step = jit_in_c(lambda x, y: (x + y, y + 1), donate_argnums=0)
    x, y = array(1, 2), array(3, 4)
    counts = []
    for i in range(600):
        x, _ = step(x, y)
        if i % 200 == 100:
            gc.collect()
            counts.append((sys.getallocatedblocks() // 50, sys.getrefcount(y), sys.getrefcount(x.spec) // 3))
        gone = array(1, 2)
        step(gone, y)
        with pytest.raises(DeletedArrayError):
            step(gone, y)
    assert counts[0][1:] == counts[-1][1:]
    assert counts[-1][0] - counts[0][0] < 10


Pair = namedtuple("Pair", "first second")


@dataclasses.dataclass
class Fields:
    first: object
    kind: str = "plain"
    second: object = None


tree.register_dataclass_node(Fields, ["first", "second"], ["kind"])


class Node:
    taken = 0

    def __init__(self, first, second, note):
        self.first, self.second, self.note = first, second, note


def taken_apart(node):
    Node.taken += 1
    return [node.first, node.second], node.note


tree.register_node(Node, taken_apart, lambda note, children: Node(*children, note))


def test_results_of_classes(jit):
    makes = {
        Pair: lambda a, b: Pair(a, [b]),
        Fields: lambda a, b: Fields(a, "other", {"b": b}),
        Node: lambda a, b: Node(a, (b, None), "said"),
    }
    for cls, make in makes.items():
        step = jit(lambda x, make=make: make(x + 1, x + 2))
        for _ in range(3):
            found = step(array(1))
            assert type(found) is cls
            assert [x.tolist() for x in tree.leaves(found)] == [[2], [3]]
            assert tree.structure(found) == tree.structure(make(1, 2))


@pytest.mark.forbidden("disable_jit")
def test_a_class_is_taken_apart_once_for_a_call(jit):
    step = jit(lambda node: node.first + node.second)
    given = Node(array(1), array(2), "note")
    step(given), step(given)
    Node.taken = 0
    for _ in range(5):
        assert step(given).tolist() == [3]
    assert Node.taken == 5


@pytest.mark.forbidden("check_tracer_leaks", "disable_jit")
def test_what_is_said_of_a_class_counts(jit):
    traced = []
    step = jit(lambda node: traced.append(node) or node.first * len(getattr(node, "note", node)))
    for _ in range(3):
        for note in ("a", "bcd"):
            assert step(Node(array(1), array(2), note)).tolist() == [len(note)]
    assert len(traced) == 2
    kinds = jit(lambda one: one.first * len(one.kind))
    for _ in range(3):
        for kind in ("a", "bcd"):
            assert kinds(Fields(array(2), kind, None)).tolist() == [2 * len(kind)]


@pytest.mark.forbidden("disable_jit")
def test_what_compares_of_a_class_raises(jit):
    class Moody:
        def __eq__(self, other):
            raise ArithmeticError("not compared")

        __hash__ = object.__hash__

    step = jit(lambda node: node.first)
    assert step(Node(array(1), None, Moody())).tolist() == [1]
    for _ in range(3):
        with pytest.raises(ValueError, match="checking equality of metadata"):
            step(Node(array(1), None, Moody()))


# ------------------------------------------------------------------------------------------------ versions


@compiled
def test_a_library_of_other_sources_is_not_used(monkeypatch):
    stale = types.SimpleNamespace(__file__="_frames.so")
    monkeypatch.setattr(importlib, "import_module", lambda name: stale)
    rabbet_native.the_library.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="_frames.so was not compiled from the sources beside it"):
            step = jit_in_c(lambda x: x + 1)
        assert not rabbet_native.is_compiled()
        assert step(array(1)).tolist() == [2]
    finally:
        rabbet_native.the_library.cache_clear()


def test_another_core_gets_no_frame(monkeypatch):
    assert rabbet_native.frame.parts_version == FrameParts.version
    monkeypatch.setattr(FrameParts, "version", FrameParts.version + 1)
    step = jit_in_c(lambda x: x + 1)
    assert type(step.func).__name__ == "function"
    assert step(array(1)).tolist() == [2]


@compiled
def test_another_core_says_so(monkeypatch):
    monkeypatch.setattr(rabbet_native.frame, "parts_version", 1)
    with pytest.warns(RuntimeWarning, match=r"rabbet-native 0.* version 1, and rabbet-core 0.* has version"):
        step = jit_in_c(lambda x: x + 1)
    assert type(step.func).__name__ == "function"
    assert step(array(1)).tolist() == [2]
