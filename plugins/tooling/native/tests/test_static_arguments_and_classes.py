"""Static arguments, named tuples, registered classes, and programs that leave arguments unread: the frame in
C does what the frame in Python does, and does it in C.
"""

import collections
import dataclasses
import functools
import gc
import sys
from typing import NamedTuple

import numpy as np
import pytest
import rabbet as rb
from rabbet import tree

rabbet_native = pytest.importorskip("rabbet_native")
pytestmark = [
    pytest.mark.needs("jit"),
    pytest.mark.skipif(not rabbet_native.is_compiled(), reason="there is no library for this Python"),
]


class Both:
    """A function given to `jit` twice, for calls by C and by Python, and how often each was traced."""

    def __init__(self, function, **options):
        self.traced, self.donates = [0, 0], any("donate" in name for name in options)
        self.ours, self.plain = [self.made(function, i, options) for i in (0, 1)]
        assert type(self.ours.func).__name__ == "Frame"
        assert type(self.plain.func).__name__ == "function"

    def made(self, function, i, options):
        def counted(*args, **kwargs):
            self.traced[i] += 1
            return function(*args, **kwargs)

        counted.__wrapped__ = function  # its parameters are those of the function
        with rb.config.override(native=i == 0):
            return rb.jit(counted, **options)

    def given(self, args, kwargs):
        """The arguments; where some are donated, other arrays of the same values."""
        if not self.donates:
            return args, kwargs
        anew = lambda x: x + 0 if type(x) is rb.Array else x
        return tuple(map(anew, args)), {name: anew(x) for name, x in kwargs.items()}

    def agree(self, *args, **kwargs):
        """Call both: they return or raise the same, after as many traces. What they did."""
        found = [outcome(function, *self.given(args, kwargs)) for function in (self.ours, self.plain)]
        assert found[0] == found[1]
        assert self.traced[0] == self.traced[1]
        return found[0]


def outcome(function, args, kwargs):
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        return type(error), str(error), getattr(error, "__notes__", None)
    leaves, structure = tree.flatten(result)
    return structure, [(x.tolist(), x.aval, x.spec) for x in leaves]


def called_in_python(call):
    """The functions of Python that run in a call, beside those of this file."""
    names = []

    def profile(frame, event, arg):
        if event == "call" and frame.f_code.co_filename != __file__:
            names.append(frame.f_code.co_qualname if sys.version_info >= (3, 11) else frame.f_code.co_name)

    call()
    call()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return names


def array(*values):
    return rb.device_put(np.asarray(values, np.float32))


class Pair(NamedTuple):
    """A named tuple."""

    left: object
    right: object = None


@dataclasses.dataclass
class Wave:
    """A dataclass with a part that is no array."""

    height: object
    name: str = "long"


class Box:
    """A class with functions of its own that take it apart."""

    def __init__(self, inside, label=None):
        self.inside, self.label = inside, label


rb.tree.register_dataclass_node(Wave, ["height"], ["name"])
rb.tree.register_node(Box, lambda box: ((box.inside,), box.label), lambda label, parts: Box(*parts, label))

TREES = {
    "a named tuple": lambda: Pair(array(1), array(2)),
    "one with None": lambda: Pair(array(1)),
    "one with numbers": lambda: Pair(2, np.float32(3)),
    "one of NumPy": lambda: Pair(np.arange(3), [array(1)]),
    "a dataclass": lambda: Wave(array(1), "short"),
    "its other name": lambda: Wave(array(1), "long"),
    "a dataclass in a dict": lambda: {"a": Wave(array(1, 2)), "b": array(3)},
    "a class": lambda: Box({"k": array(4)}, "l"),
    "another label": lambda: Box({"k": array(4)}, "m"),
    "a label of a number": lambda: Box({"k": array(4)}, 1),
    "a label of truth": lambda: Box({"k": array(4)}, True),
    "classes in classes": lambda: Box(Pair(Wave(array(1)), Box(2.0)), None),
    "an ordered dict": lambda: collections.OrderedDict(b=array(1), a=array(2)),
    "its other order": lambda: collections.OrderedDict(a=array(2), b=array(1)),
    "a default dict": lambda: collections.defaultdict(list, a=array(2)),
    "none of them": lambda: {"a": array(1)},
    "an array": lambda: array(5),
    "a text": lambda: Pair("no"),
    "an object": lambda: Box(Ellipsis),
    "a label that has no hash": lambda: Box(array(1), [1]),
    "keys that are not sorted": lambda: Pair({"a": 1, 2: array(3)}),
}
IN_PYTHON = ("a text", "an object", "keys that are not sorted")


@pytest.mark.forbidden("disable_jit")
@pytest.mark.parametrize("by_name", [False, True])
def test_classes_in_turns(by_name):
    both = Both(lambda x, y=None: (Pair(x, y), Box(tree.map(lambda a: a + 1, x), "out"), Wave([x])))
    for _ in range(3):
        for name, make in TREES.items():
            found = both.agree(make(), y=make()) if by_name else both.agree(make(), make())
            assert isinstance(found[0], type) == (name in IN_PYTHON), name


@pytest.mark.forbidden("disable_jit")
@pytest.mark.parametrize("name", [name for name in TREES if name not in IN_PYTHON])
@pytest.mark.parametrize("by_name", [False, True])
def test_a_class_alone_is_taken_apart_in_c(name, by_name):
    both, given = Both(lambda x: Pair(x, Box(tree.map(lambda a: a + 1, x)))), TREES[name]()
    call = (lambda: both.ours(x=given)) if by_name else (lambda: both.ours(given))
    for _ in range(3):
        assert not isinstance(both.agree(**{"x": given}) if by_name else both.agree(given), type)
    names = called_in_python(call)
    assert not [one for one in names if "of_others" in one or "by_name" in one or "slowly" in one], names
    assert both.traced[0] <= 2


@pytest.mark.forbidden("disable_jit")
def test_more_structures_than_are_tried_one_by_one():
    both = Both(lambda x: tree.map(lambda a: a * 2, x))
    trees = [{f"k{i}": array(i), "box": [None] * i} for i in range(30)]
    for _ in range(3):
        for one in trees:
            both.agree(one)
    assert both.traced == [30, 30]
    for one in trees:
        assert not [n for n in called_in_python(lambda one=one: both.ours(one)) if "of_others" in n]


def test_a_class_that_is_registered_later():
    class Later(NamedTuple):
        first: object
        second: object

    class Plain:
        def __init__(self, inside):
            self.inside = inside

    both = Both(lambda x: [leaf + 1 for leaf in tree.leaves(x)])
    for _ in range(3):
        both.agree(Later(array(1), array(2)))
        assert both.agree(Plain(array(1)))[0] is TypeError or both.traced
    rb.tree.register_node(Later, lambda x: ((x.second,), x._fields), lambda _, parts: Later(None, *parts))
    rb.tree.register_node(Plain, lambda x: ((x.inside,), None), lambda _, parts: Plain(*parts))
    for _ in range(3):
        assert both.agree(Later(array(1), array(2)))[1][0][0] == [3]
        assert both.agree(Plain(array(7)))[1][0][0] == [8]


def test_what_taking_apart_raises():
    class Fails(Exception):
        pass

    class Moody:
        fails = False

    def flatten(moody):
        if Moody.fails:
            raise Fails("not now")
        return (array(1),), None

    rb.tree.register_node(Moody, flatten, lambda _, parts: Moody())
    both = Both(lambda x: tree.leaves(x)[0] + 1)
    for _ in range(400):  # a level of recursion that is lost in each would end the process
        Moody.fails = False
        both.agree([[Moody()]])
        Moody.fails = True
        assert both.agree([[Moody()]])[0] is Fails


@pytest.mark.forbidden("disable_jit")
def test_a_donated_class():
    both = Both(lambda w, x: Wave(w.height + x), donate_argnums=0)
    for function in (both.ours, both.plain):
        for _ in range(3):
            wave = Wave(array(1, 2))
            assert function(wave, array(1, 1)).height.tolist() == [2, 3]
            assert wave.height.is_deleted()
        with pytest.raises(rb.errors.DeletedArrayError, match="argument 0"):
            function(wave, array(1, 1))


class Counted:
    """A static value that counts how often it is compared."""

    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        return isinstance(other, Counted) and self.value == other.value


class NoHash(Counted):
    __hash__ = None


class FailingHash:
    def __hash__(self):
        raise RuntimeError("no hash today")


class FailingEquality(Counted):
    __hash__ = Counted.__hash__

    def __eq__(self, other):
        raise RuntimeError("not compared today")


def nested(levels):
    value = ()
    for _ in range(levels):
        value = (value,)
    return value


STATIC = {
    "1": lambda: 1,
    "1.0": lambda: 1.0,
    "true": lambda: True,
    "none": lambda: None,
    "a text": lambda: "text",
    "a function": lambda: len,
    "a tuple": lambda: (1, 2),
    "a tuple of others": lambda: (1.0, True, "a"),
    "a tuple of equals": lambda: (1, 1),
    "a tuple in a tuple": lambda: ((1, (2.0,)), ()),
    "its like": lambda: ((1, (2,)), ()),
    "a named tuple": lambda: Pair(1, 2),
    "an object": lambda: Counted(3),
    "another": lambda: Counted(4),
    "a class": lambda: Counted,
    "a frozen set": lambda: frozenset([1, 2]),
    "a list": lambda: [1, 2],
    "a list in a tuple": lambda: (1, [2]),
    "an array": lambda: array(1),
    "of NumPy": lambda: np.arange(3),
    "no hash": lambda: NoHash(1),
    "a failing hash": FailingHash,
    "a failing equality": lambda: FailingEquality(1),
    "a tuple of 50 levels": lambda: nested(50),
    "a tuple of 100000 levels": lambda: nested(100_000),
}
STATIC_IN_PYTHON = (
    "a list", "a list in a tuple", "an array", "of NumPy", "no hash", "a failing hash", "a failing equality",
    "a tuple of 100000 levels",
)  # fmt: skip


def scaled(n, x, *, by=1, **more):
    """Something of all arguments."""
    return {"x": x * 2, "by": by * 1.0, "more": more, "n": len(str(type(n)))}


@pytest.mark.forbidden("disable_jit")
def test_static_values_in_turns():
    both = Both(scaled, static_argnums=0)
    for _ in range(3):
        for name, make in STATIC.items():
            found = both.agree(make(), array(1, 2))
            if name != "a failing equality":  # raises once there is one to compare with
                assert isinstance(found[0], type) == (name in STATIC_IN_PYTHON), name


@pytest.mark.forbidden("disable_jit")
@pytest.mark.parametrize("name", STATIC)
def test_a_static_value_alone(name):
    both, value = Both(scaled, static_argnums=0), STATIC[name]()
    for _ in range(3):
        both.agree(value, array(1, 2))
        both.agree(n=value, x=array(1, 2))
        both.agree(value, array(1, 2), by=value)
        both.agree(STATIC[name](), array(1, 2))
    if name not in STATIC_IN_PYTHON:
        for call in (lambda: both.ours(value, array(1, 2)), lambda: both.ours(n=value, x=array(1, 2))):
            names = [one for one in called_in_python(call) if "fixed" in one or "slowly" in one]
            assert not names, names


@pytest.mark.forbidden("disable_jit")
@pytest.mark.parametrize(
    "options",
    [
        {"static_argnums": 0}, {"static_argnums": (0, 1)}, {"static_argnums": -1}, {"static_argnames": "by"},
        {"static_argnames": ("by", "n")}, {"static_argnums": 0, "static_argnames": "shift"},
        {"static_argnums": 0, "donate_argnums": 1}, {"static_argnames": "n", "donate_argnames": "x"},
        {"static_argnums": 0, "keep_unused": True},
    ],
    ids=str,
)  # fmt: skip
def test_calls_with_static_arguments(options):
    both = Both(lambda n, x, by=3, *, shift=0: (x * by + shift, Pair(n)), **options)
    for _ in range(3):
        for n, by, shift in [(1, 2, 3), (1.0, 2, 3), (1, 2.5, array(3)), ((1,), True, 2), (array(1), 2, 2)]:
            both.agree(n, array(1, 2))
            both.agree(n, array(1, 2), by)
            both.agree(n, array(1, 2), by=by)
            both.agree(n, x=array(1, 2), shift=shift)
            both.agree(n=n, x=array(1, 2), shift=shift, by=by)
            both.agree(n, x=array(1, 2), by=by, shift=shift)
            both.agree(n, array(1, 2), by, 4)  # too many
            both.agree(n)


@pytest.mark.forbidden("disable_jit")
def test_static_arguments_beside_pytrees():
    both = Both(lambda how, given: tree.map(lambda x: x + len(how), given), static_argnums=0)
    for _ in range(3):
        for how in ("a", "ab"):
            for make in TREES.values():
                both.agree(how, make())
    assert not [n for n in called_in_python(lambda: both.ours("a", TREES["a class"]())) if "fixed" in n]


@pytest.mark.forbidden("disable_jit")
def test_static_arguments_of_many_positions():
    both = Both(lambda *args: [x + 1 for x in args if not isinstance(x, str)], static_argnums=(0, 2))
    for _ in range(3):
        for count in range(1, 6):
            args = [array(i) for i in range(count)]
            for i in (0, 2):
                if i < count:
                    args[i] = f"text {i}"
            both.agree(*args)
    assert both.traced == [5, 5]


@pytest.mark.forbidden("disable_jit")
def test_settings_and_forgetting_count_with_static_arguments():
    both = Both(lambda n, x: x / n, static_argnums=0)
    both.agree(0, array(1))
    with rb.config.override(debug_nans=True):
        assert both.agree(0, array(0))[0] is FloatingPointError
        assert both.agree(2, array(1))[1][0][0] == [0.5]
    with rb.config.override(disable_jit=True):
        both.agree(2, array(1))
    before = both.traced[0]
    both.ours.clear_cache()
    both.plain.clear_cache()
    both.agree(2, array(1))
    both.agree(2, array(1))
    assert both.traced[0] == before + 1


@pytest.mark.needs("grad", "vmap")
def test_static_arguments_under_transformations():
    both = Both(lambda n, x: x * x if n == 2 else x, static_argnums=0)
    for function in (both.ours, both.plain):
        assert rb.grad(function, argnums=1)(2, 3.0).tolist() == 6
        assert rb.vmap(functools.partial(function, 2))(array(1, 2)).tolist() == [1, 4]


@pytest.mark.usefixtures("captured_arrays_are_arguments")
@pytest.mark.forbidden("debug_nans", "debug_infs", "disable_jit")
@pytest.mark.parametrize("keep_unused", [False, True])
def test_programs_that_leave_arguments_unread(keep_unused):
    captured = array(10, 20)
    functions = [
        lambda x, y, z: y * 2,
        lambda x, y, z: (z + 1, y),
        lambda x, y, z: {"a": [y * captured]},
        lambda x, y, z: captured + 0,
        lambda x, y, z: Pair(z + captured, captured),
    ]
    for function in functions:
        both = Both(function, keep_unused=keep_unused)
        for _ in range(3):
            both.agree(array(1), array(2, 3), 4)
            both.agree({"k": array(1)}, array(2, 3), np.float32(4))
            both.agree(array(1), y=array(2, 3), z=4)
        names = called_in_python(functools.partial(both.ours, array(1), array(2, 3), array(4)))
        assert not [one for one in names if "run" in one], names


def test_a_deleted_argument_that_is_not_read():
    both, gone = Both(lambda x, y: y * 2), array(1)
    both.agree(gone, array(2))
    gone.delete()
    assert both.agree(gone, array(2))[1][0][0] == [4]
    assert both.agree(array(1), gone)[0] is rb.errors.DeletedArrayError


CALLS = {
    "static": ({"static_argnums": 0}, lambda f, a: f(1, a)),
    "static, by name": ({"static_argnums": 0}, lambda f, a: f(n=1, x=a)),
    "a static tuple": ({"static_argnums": 0}, lambda f, a: f((1, (2, 3)), a)),
    "another static one": ({"static_argnames": "by"}, lambda f, a: f(a, a, by=2)),
    "a named tuple": ({}, lambda f, a: f(a, Pair(a, a))),
    "a class": ({}, lambda f, a: f(a, Box({"a": Wave(a)}, "l"))),
    "a class by name": ({}, lambda f, a: f(a, x=Box(a))),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_keep_nothing(name):
    options, call = CALLS[name]
    function = Both(lambda n, x, by=1: (tree.map(lambda a: a + by, x), Pair(x)), **options).ours
    a = array(1)
    for _ in range(50):
        call(function, a)
    gc.collect()
    before, count = sys.getallocatedblocks(), sys.getrefcount(a)
    for _ in range(5000):
        call(function, a)
    gc.collect()
    assert sys.getallocatedblocks() - before < 500
    assert sys.getrefcount(a) == count


@pytest.mark.forbidden("disable_jit")
@pytest.mark.parametrize("failing", ["a failing hash", "a list", "a failing equality"])
def test_failing_static_arguments_keep_nothing(failing):
    function, a, value = Both(lambda n, x: x + 1, static_argnums=0).ours, array(1), STATIC[failing]()
    function(1, a)
    counts = []
    for _ in range(100):
        with pytest.raises((RuntimeError, TypeError)):
            function(value, a)
            function(STATIC[failing](), a)
        counts.append((sys.getrefcount(a), sys.getrefcount(value)))
    assert counts[-1] <= tuple(c + 1 for c in counts[0])
