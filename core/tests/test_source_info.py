"""Positions in the user's program, and tracebacks without internal frames."""

import functools
import sys
import threading
import traceback

import pytest
from rabbet.config import config
from rabbet.extend.wrapping import wraps
from rabbet.messages import function_names, source_positions, tracebacks


@pytest.fixture
def internal(tmp_path, monkeypatch):
    """A function that compiles source as if it stood in an internal package."""
    source_positions._resolve_roots()  # those that stay behind this test
    monkeypatch.setattr(source_positions, "_roots", [*source_positions._roots])
    source_positions.add_internal_root(tmp_path)

    def make(source, name, **names):
        exec(compile(source, str(tmp_path / "inner.py"), "exec"), names)
        return names[name]

    yield make
    source_positions._verdicts.clear()


HERE = __file__


def line_of(frame_function):
    return frame_function.__code__.co_firstlineno


# Positions ----------------------------------------------------------------------------------------


def test_caller_is_the_line_that_calls():
    where = source_positions.caller()
    position = source_positions.source_position(where)
    assert position.file == HERE
    assert position.line == sys._getframe().f_lineno - 3
    assert position.column == len("    where = ") + 1
    assert position.function == "test_caller_is_the_line_that_calls"


def test_caller_skips_internal_frames(internal):
    inner = internal(
        "def inner(n):\n    return inner(n - 1) if n else caller()\n", "inner", caller=source_positions.caller
    )
    position = source_positions.source_position(inner(5))
    assert (position.file, position.line) == (HERE, sys._getframe().f_lineno - 1)


def test_caller_skips_the_frames_of_a_decorator(internal):
    inner = internal(
        "import contextlib\n@contextlib.contextmanager\ndef inner():\n    yield caller()\n",
        "inner",
        caller=source_positions.caller,
    )
    with inner() as where:
        pass
    assert source_positions.source_position(where).file == HERE


def test_caller_finds_the_user_inside_a_callback(internal):
    inner = internal("def inner(f):\n    return f()\n", "inner")
    assert source_positions.source_position(inner(lambda: source_positions.caller())).function.endswith(
        "<lambda>"
    )


@pytest.mark.filterwarnings("always")
def test_a_warning_points_at_the_users_line(internal):
    inner = internal(
        "import warnings\ndef inner(n):\n"
        "    return inner(n - 1) if n else warnings.warn('look', stacklevel=stacklevel())\n",
        "inner",
        stacklevel=source_positions.stacklevel,
    )
    with pytest.warns(UserWarning, match="look") as seen:
        inner(3)
    assert (seen[0].filename, seen[0].lineno) == (HERE, sys._getframe().f_lineno - 1)


def test_core_is_internal_and_its_tests_are_not():
    assert source_positions.is_internal(source_positions.__file__)
    assert not source_positions.is_internal(HERE)


def test_a_root_is_a_folder_not_a_prefix_of_names(tmp_path, monkeypatch):
    monkeypatch.setattr(source_positions, "_roots", [*source_positions._roots])
    (tmp_path / "pkg").mkdir()
    source_positions.add_internal_root(tmp_path / "pkg")
    assert source_positions.is_internal(str(tmp_path / "pkg" / "a.py"))
    assert not source_positions.is_internal(str(tmp_path / "pkgs" / "a.py"))
    source_positions._verdicts.clear()


def test_a_root_takes_effect_for_files_judged_before(tmp_path, monkeypatch):
    monkeypatch.setattr(source_positions, "_roots", [*source_positions._roots])
    file = str(tmp_path / "a.py")
    assert not source_positions.is_internal(file)
    source_positions.add_internal_root(tmp_path)
    assert source_positions.is_internal(file)
    source_positions._verdicts.clear()


def test_position_of_an_expression_over_several_lines():
    def f():
        return (
            1,
            source_positions.caller(),
        )

    assert source_positions.source_position(f()[1]).line == line_of(f) + 3


def test_position_prints_short():
    line = sys._getframe().f_lineno + 1
    position = source_positions.source_position(source_positions.caller())
    assert str(position).endswith(f"test_source_info.py:{line}")
    assert len(str(position)) < len(f"{HERE}:{line}")


def test_addresses_and_descriptions():
    @functools.wraps(line_of)
    def wrapper(*args):
        return line_of(*args)

    class Callable:
        def __call__(self):
            """Nothing."""

    expected = f"test_source_info.py:{line_of(line_of)}"
    assert function_names.address(line_of).endswith(expected)
    assert function_names.address(wrapper).endswith(expected)
    assert function_names.address(functools.partial(line_of, 1)).endswith(expected)
    assert "test_source_info.py:" in function_names.address(Callable())
    assert function_names.address(len) == "builtins (no source)"
    assert function_names.describe_function(line_of).startswith("line_of (")
    assert function_names.describe_function(functools.partial(line_of)).startswith("partial of line_of (")


class Thing:
    def __init__(self):
        self.where = source_positions.definition_site()


class Special(Thing):
    def __init__(self):
        super().__init__()


def test_definition_site_is_where_the_object_is_made():
    line = sys._getframe().f_lineno + 1
    things = Thing(), Special()
    assert all((t.where.file, t.where.line, t.where.module) == (HERE, line, __name__) for t in things)


# Tracebacks ---------------------------------------------------------------------------------------


def frames(error):
    return [(f.filename, f.name) for f in traceback.extract_tb(error.__traceback__)]


def fails():
    raise KeyError("mine")


@pytest.fixture
def door(internal):
    source = "@folded\ndef door(f):\n    return deeper(f)\ndef deeper(f):\n    return f()\n"
    return internal(source, "door", folded=tracebacks.folded)


def test_user_frames_stay_and_internal_ones_go(door):
    with pytest.raises(KeyError, match="mine") as caught:
        door(lambda: door(fails))
    names = [name for _, name in frames(caught.value)]
    assert {file for file, _ in frames(caught.value)} == {HERE}
    assert names == ["test_user_frames_stay_and_internal_ones_go", "<lambda>", "fails"]
    assert sum("RABBET_TRACEBACK" in note for note in caught.value.__notes__) == 1


def test_an_error_of_our_own_points_at_the_users_line(internal):
    inner = internal(
        "@folded\ndef inner():\n    raise ValueError('ours')\n", "inner", folded=tracebacks.folded
    )
    with pytest.raises(ValueError) as caught:
        inner()
    assert len(frames(caught.value)) == 1


def test_causes_are_folded_too(internal):
    source = "def inner(f):\n  try:\n    f()\n  except KeyError as e:\n    raise ValueError('ours') from e\n"
    inner = tracebacks.folded(internal(source, "inner"))
    with pytest.raises(ValueError) as caught:
        inner(fails)
    assert frames(caught.value.__cause__) == [(HERE, "fails")]


def test_full_tracebacks_on_request(door):
    with config.override(traceback="full"), pytest.raises(KeyError) as caught:
        door(fails)
    assert "deeper" in [name for _, name in frames(caught.value)]
    assert not hasattr(caught.value, "__notes__")


def test_no_note_where_nothing_is_hidden():
    try:
        fails()
    except KeyError as error:
        assert not hasattr(tracebacks.fold_traceback(error), "__notes__")


def test_folded_passes_values_and_keeps_the_name():
    def f(x, *, y):
        """Doc."""
        return x, y

    g = tracebacks.folded(f)
    assert g(1, y=2) == (1, 2)
    assert (g.__name__, g.__doc__) == ("f", "Doc.")


def test_wraps_takes_objects_whose_annotations_are_no_dict():
    class Mean:
        __annotations__ = property(lambda self: None)

        def __call__(self, x):
            return x

    wrapped = wraps(Mean())(lambda x: x)
    assert wrapped.__annotations__ == {} and wrapped.__name__ == "Mean"


def test_threads_may_look_for_internal_roots_at_once(tmp_path, monkeypatch):
    given, roots, forms = [str(tmp_path / "one"), str(tmp_path / "other")], [], source_positions._forms
    monkeypatch.setattr(source_positions, "_given", list(given))
    monkeypatch.setattr(source_positions, "_roots", roots)

    def overtaken(path):
        if threading.current_thread() is threading.main_thread():
            other = threading.Thread(target=source_positions._resolve_roots)
            other.start()
            other.join()
        return forms(path)

    monkeypatch.setattr(source_positions, "_forms", overtaken)
    source_positions._resolve_roots()
    assert source_positions._given == [] and {f for path in given for f in forms(path)} <= set(roots)
