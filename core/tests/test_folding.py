"""Doors: functions, classes and modules whose exceptions leave without internal frames."""

import functools
import inspect
import pickle
import traceback
import types

import pytest
from rabbet import lax, tree
from rabbet.config import config
from rabbet.messages import function_names, source_positions
from rabbet.messages.tracebacks import (
    WholeTraceback,
    fold_traceback,
    folded,
    folds_itself,
    hide_frames_of,
    public_module,
)

HERE = __file__


@pytest.fixture
def internal(tmp_path, monkeypatch):
    """A function that runs source as a module of an internal package, and returns the module."""
    monkeypatch.setattr(source_positions, "_roots", [*source_positions._roots])
    source_positions.add_internal_root(tmp_path)

    def make(source, name="inner"):
        module = types.ModuleType(name)
        vars(module).update(folded=folded, folds_itself=folds_itself, fold_traceback=fold_traceback)
        exec(compile(source, str(tmp_path / "inner.py"), "exec"), vars(module))
        return module

    yield make
    source_positions._verdicts.clear()


def files(call):
    """The files of the frames of the exception that ``call()`` raises."""
    with pytest.raises(Exception) as caught:
        call()
    return {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)}


PARAMETERS = [
    "", "a", "a, b", "a, /, b", "a, b=2", "*rest", "a, *rest", "**named", "a, *rest, k, **named", "a, *, k",
    "a, *, k=3", "a, *, k=None", "a, *, k=None, l=None", "a, *, k=None, l=4",
    "a, b=2, *rest, k=None, **named",
    "error, function",
]  # fmt: skip
CALLS = [
    "()", "(1)", "(1, 2)", "(1, 2, 3)", "(a=1)", "(1, b=4)", "(1, k=0)", "(1, k=None)", "(1, l=5, k=6)",
    "(1, k=6, z=7)", "(1, 2, 3, k=4)", "(error=1, function=2)", "(*'xyz')", "(1, **{'a0': 5, 'k0': 6})",
]  # fmt: skip


@pytest.mark.parametrize("parameters", PARAMETERS)
def test_a_door_takes_what_its_function_takes(parameters):
    names = {}
    exec(f"def f({parameters}):\n    return locals()", names)
    door = folded(names["f"])
    assert inspect.signature(door) == inspect.signature(names["f"])
    for call in CALLS:
        assert result(call, door) == result(call, names["f"]), call


def result(call, f):
    """What the call of ``f`` written in ``call`` returns, or that it raises."""
    try:
        return eval(f"f{call}", {"f": f})
    except TypeError:
        return TypeError


def test_what_is_no_python_function_gets_a_door_too():
    assert folded(len)([1, 2]) == 2
    assert folded(functools.partial(max, 3))(1, key=lambda x: -x) == 1
    assert folded([1].append)(2) is None


def test_a_function_has_one_door():
    def f(x):
        return x

    door = folded(f)
    assert folded(door) is door
    assert folded(f) is not door
    assert folded(functools.wraps(door)(lambda x: x)) is not door  # a wrapper has frames of its own


def test_what_folds_itself_gets_no_door(internal):
    module = internal(
        "@folds_itself\n"
        "def inner(f):\n"
        "    try:\n        return f()\n"
        "    except Exception as error:\n        fold_traceback(error)\n        raise\n"
    )
    assert folded(module.inner) is module.inner
    assert files(lambda: module.inner(lambda: 1 / 0)) == {HERE}


@pytest.mark.forbidden("traceback")
def test_the_methods_of_a_class(internal):
    module = internal(
        "@folded\n"
        "class Thing:\n"
        "    def __init__(self, size): self.size = size + 0\n"
        "    def method(self): return 1 / self.size\n"
        "    def __getitem__(self, i): return 1 / i\n"
        "    def _private(self): return 1 / 0\n"
        "    @property\n"
        "    def value(self): return 1 / self.size\n"
        "    @staticmethod\n"
        "    def static(x): return 1 / x\n"
        "    @classmethod\n"
        "    def made(cls, size): return cls(size)\n"
    )
    thing = module.Thing.made(0)
    calls = [
        lambda: module.Thing("a"), lambda: module.Thing.made("a"), thing.method, lambda: thing[0],
        lambda: thing.value, lambda: module.Thing.static(0),
    ]  # fmt: skip
    assert all(files(call) == {HERE} for call in calls)
    assert files(thing._private) != {HERE}
    assert module.Thing(4).value == 0.25


def test_the_public_functions_of_a_module(internal):
    module = internal(
        "def inner(x): return 1 / x\n"
        "other = inner\n"
        "def _private(x): return 1 / x\n"
        "def __getattr__(name): return {}[name]\n"
    )
    bare = module.inner
    module.missing = lambda x: x  # of another module
    missing = module.missing
    public_module(vars(module))
    assert module.inner is not bare and module.other is not bare
    assert (module.inner.__name__, module.other.__name__) == ("inner", "other")
    assert module.missing is missing
    assert files(lambda: module.inner(0)) == files(lambda: module.other(0)) == {HERE}
    assert files(lambda: module.no_such) == {HERE}
    assert files(lambda: bare(0)) != {HERE}
    assert files(lambda: module._private(0)) != {HERE}


def test_all_says_what_is_public(internal):
    module = internal("__all__ = ['g']\ndef f(x): return 1 / x\ndef g(x): return 1 / x\n")
    bare = module.f
    public_module(vars(module))
    assert module.f is bare
    assert files(lambda: module.g(0)) == {HERE}


def test_public_names_are_what_they_were():
    assert pickle.loads(pickle.dumps(lax.reshape)) is lax.reshape
    assert pickle.loads(pickle.dumps(tree.map)) is tree.map
    assert lax.reshape.__module__ == "rabbet.lax"
    assert "new_sizes" in inspect.signature(lax.reshape).parameters
    assert inspect.getsource(lax.reshape).startswith("def reshape(")
    assert function_names.address(lax.reshape).split(":")[0].endswith("lax/shapes.py")
    assert lax.add.__class__.__name__ == "Primitive"


def test_one_note_for_all_causes(internal):
    module = internal(
        "@folded\n"
        "def inner(): raise KeyError('first')\n"
        "@folded\n"
        "def outer():\n"
        "    try: inner()\n"
        "    except KeyError as error: raise ValueError('second') from error\n"
    )
    with pytest.raises(ValueError) as caught:
        module.outer()
    assert sum("hidden" in line for line in traceback.format_exception(caught.value)) == 1


def test_a_position_is_that_of_the_user(internal):
    module = internal("@folded\ndef inner(*, k=None): return where()\n")
    module.where = source_positions.caller
    assert source_positions.source_position(module.inner()).file == HERE
    assert source_positions.source_position(module.inner(k=1)).file == HERE


def test_nodes_are_registered_where_the_user_says_so():
    class Node:
        pass

    tree.register_node(Node, lambda node: ((), None), lambda metadata, children: Node())
    with pytest.raises(tree.TreeError, match=r"registered at .*test_folding\.py"):
        tree.register_node(Node, lambda node: ((), None), lambda metadata, children: Node())


def nested(internal):
    """What raises within two doors, of which the inner one is called by a user's function."""
    inner = internal(
        "@folded\ndef fail():\n    return helper()\ndef helper():\n    raise ValueError('inside')"
    )
    outer = internal("@folded\ndef call(f):\n    return through(f)\ndef through(f):\n    return f()", "outer")

    def mine():
        return inner.fail()

    return lambda: outer.call(mine)


def frames_of(error):
    return [frame for frame, _ in traceback.walk_tb(error.__traceback__)]


def functions(error):
    return [frame.f_code.co_name for frame in frames_of(error)]


def test_frames_are_marked_for_tools_that_hide_them(internal):
    with config.override(traceback="full"), pytest.raises(ValueError) as full:
        nested(internal)()
    with config.override(traceback="mark"), pytest.raises(ValueError) as caught:
        nested(internal)()
    assert functions(caught.value) == functions(full.value)
    shown = [f.f_code.co_name for f in frames_of(caught.value) if "__tracebackhide__" not in f.f_locals]
    assert shown == ["test_frames_are_marked_for_tools_that_hide_them", "<lambda>", "mine"]


def test_what_is_hidden_is_the_cause(internal):
    with config.override(traceback="full"), pytest.raises(ValueError) as full:
        nested(internal)()
    with config.override(traceback="cause"), pytest.raises(ValueError) as caught:
        nested(internal)()
    assert functions(caught.value) == ["test_what_is_hidden_is_the_cause", "<lambda>", "mine"]
    whole = caught.value.__cause__
    assert type(whole) is WholeTraceback
    assert functions(whole) == functions(full.value)[2:], "all from the outermost door on"


def test_the_whole_traceback_stands_before_the_cause_that_there_was(internal):
    module = internal("@folded\ndef fail():\n    raise ValueError('outer') from KeyError('inner')")
    with config.override(traceback="cause"), pytest.raises(ValueError) as caught:
        module.fail()
    assert type(caught.value.__cause__) is WholeTraceback
    assert type(caught.value.__cause__.__cause__) is KeyError


def test_files_of_others_are_hidden_as_long_as_they_are_listed(internal, tmp_path_factory):
    module = internal("@folded\ndef call(f):\n    return f()")
    theirs = types.ModuleType("theirs")
    path = str(tmp_path_factory.mktemp("theirs") / "layers.py")
    exec(compile("def layer():\n    raise ValueError('here')", path, "exec"), vars(theirs))
    listed = []
    hide_frames_of(listed)
    assert path in files(lambda: module.call(theirs.layer))
    listed.append(path)
    assert path not in files(lambda: module.call(theirs.layer))
    listed.remove(path)
    assert path in files(lambda: module.call(theirs.layer))


LOOKUP = """
known = {}

@folded
def ask(key, make):
    try:
        return known[key]
    except KeyError:
        return make(key)
"""


def test_what_rabbet_met_by_itself_is_not_shown(internal):
    def make(key):
        raise ValueError("the message")

    with pytest.raises(ValueError) as caught:
        internal(LOOKUP).ask(1, make)
    assert "KeyError" not in "".join(traceback.format_exception(caught.value))
    with config.override(traceback="full"), pytest.raises(ValueError) as caught:
        internal(LOOKUP).ask(1, make)
    assert "KeyError" in "".join(traceback.format_exception(caught.value))


def test_what_a_user_met_before_is_shown(internal):
    def make(key):
        try:
            {}["mine"]
        except KeyError:
            raise ValueError("the message")  # noqa: B904  (its context is what is asked for)

    with pytest.raises(ValueError) as caught:
        internal(LOOKUP).ask(1, make)
    assert "KeyError: 'mine'" in "".join(traceback.format_exception(caught.value))


def test_a_note_takes_no_notes_of_the_reprs_that_it_asks(internal):
    """The note on an error of Python's own has the arguments' reprs, which may fail in the same way."""
    asked = []
    inner = internal(
        "import operator\n"
        "@folded\n"
        "class Odd:\n"
        "    def __init__(self, asked): self.asked = asked\n"
        "    def get(self): return operator.index(None)\n"
        "    def __repr__(self): self.asked.append(1); return str(self.get())\n"
    )
    with pytest.raises(TypeError) as caught:
        inner.Odd(asked).get()
    assert "in Odd.get(self=Odd)" in caught.value.__notes__ and asked == [1]


def test_code_that_has_no_line_keeps_its_frame(internal):
    """A signal can interrupt it between two lines: Python has None for the line then."""
    code = compile("def user():\n    inner()", HERE, "exec").co_consts[0]
    size = len(code.co_code) // 2
    table = b"".join(bytes([0x80 | 15 << 3 | min(8, size - i) - 1]) for i in range(0, size, 8))
    inner = internal("def fails():\n    raise ValueError\n").fails
    user = types.FunctionType(code.replace(co_linetable=table), {"inner": inner})
    with pytest.raises(ValueError) as caught:
        user()
    folded_away = fold_traceback(caught.value)
    frames = list(traceback.walk_tb(folded_away.__traceback__))
    assert (frames[-1][0].f_code.co_name, frames[-1][1]) == ("user", None)
