"""Types in the source: most functions say what they take and return, and the share only grows.

``Any`` counts: it says that only the interpreter knows, or that nobody has looked yet.
mypy checks what is said.
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


def test_what_counts_as_annotated():
    good, bad = ast.parse("def f(self, x: int, *y: str) -> int: ...\ndef g(x) -> int: ...").body
    assert is_annotated(good)
    assert not is_annotated(bad)
