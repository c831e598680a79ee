"""Types in the source: most functions say what they take and return, and the share only grows.

``Any`` says that only the interpreter knows, or that nobody has looked yet: the share of annotations that are
nothing else only shrinks. mypy checks what is said.
"""

import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The least share in hundredths. When a room gets better, raise its number.
LEAST = {
    "core/src": 90,
    "plugins/transformations/jit/src": 90,
    "plugins/transformations/autodiff/src": 90,
    "plugins/transformations/vmap/src": 90,
    "plugins/scale/parallel/src": 90,
    "plugins/functions/numpy/src": 90,
}

# The most hundredths of annotations that are `Any` and nothing else. When a room gets better, lower it.
MOST_ANY = {
    "core/src": 35,
    "plugins/transformations/jit/src": 41,
    "plugins/transformations/autodiff/src": 26,
    "plugins/transformations/vmap/src": 26,
    "plugins/scale/parallel/src": 82,
    "plugins/functions/numpy/src": 23,
}


def functions(folder):
    """Each function of the Python files in a folder."""
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node


def is_annotated(function):
    """Whether it says what it returns and what each parameter is."""
    given = function.args
    parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    named = [p for p in parameters if p is not None and p.arg not in ("self", "cls")]
    return function.returns is not None and all(p.annotation is not None for p in named)


@pytest.mark.parametrize("folder", LEAST)
def test_functions_say_their_types(folder):
    annotated = [is_annotated(function) for function in functions(ROOT / folder)]
    share = 100 * sum(annotated) / len(annotated)
    print(f"{folder}: {share:.1f}% of {len(annotated)}")
    assert share >= LEAST[folder]


def annotations(function):
    """The annotations of a function, as syntax."""
    given = function.args
    parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    found = [*[p.annotation for p in parameters if p is not None], function.returns]
    return [one for one in found if one is not None]


def is_any(annotation):
    return isinstance(annotation, ast.Name) and annotation.id == "Any"


@pytest.mark.parametrize("folder", MOST_ANY)
def test_few_annotations_are_any(folder):
    said = [is_any(one) for function in functions(ROOT / folder) for one in annotations(function)]
    share = 100 * sum(said) / len(said)
    print(f"{folder}: {share:.1f}% of {len(said)}")
    assert share <= MOST_ANY[folder]


def test_stubs_take_their_types_from_the_source():
    """No table of types by the names of parameters or functions: those would be guesses."""
    text = (ROOT / "tools" / "write" / "stub_types.toml").read_text()
    tables = {line.strip("[]").partition(".")[0] for line in text.splitlines() if line.startswith("[")}
    assert tables <= {"signatures", "doors"}


def test_what_counts_as_annotated():
    good, bad = ast.parse("def f(self, x: int, *y: str) -> int: ...\ndef g(x) -> int: ...").body
    assert is_annotated(good)
    assert not is_annotated(bad)
