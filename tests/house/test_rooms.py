"""Small rooms, with a meter: what has outgrown its room is printed, and fails where it is far beyond."""

import ast
import collections
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = [
    ROOT / name
    for name in subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.py"],
        cwd=ROOT,
        check=True,
        text=True,
        capture_output=True,
    ).stdout.split()
    if (ROOT / name).exists()
]
PRODUCT = [path for path in FILES if "src" in path.parts]
LONGEST_FILE, LONGEST_FUNCTION = 500, 100


def name(path):
    return str(path.relative_to(ROOT))


def functions(path):
    """(name, length without the docstring) of every function in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = node.body[0]
            doc = (
                first.end_lineno - first.lineno + 1
                if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
                else 0
            )
            yield f"{name(path)}:{node.lineno} {node.name}", node.end_lineno - node.lineno + 1 - doc


def test_no_file_has_outgrown_its_room():
    lengths = sorted(((len(path.read_text().splitlines()), name(path)) for path in PRODUCT), reverse=True)
    print("\nlongest files:", *(f"  {lines:4d}  {path}" for lines, path in lengths[:8]), sep="\n")
    assert [entry for entry in lengths if entry[0] > LONGEST_FILE] == []


def test_no_function_has_outgrown_its_room():
    lengths = sorted(((lines, where) for path in PRODUCT for where, lines in functions(path)), reverse=True)
    print("\nlongest functions:", *(f"  {lines:4d}  {where}" for lines, where in lengths[:8]), sep="\n")
    assert [entry for entry in lengths if entry[0] > LONGEST_FUNCTION] == []


def test_every_module_says_what_it_is():
    silent = [
        name(path)
        for path in PRODUCT
        if path.read_text().strip() and ast.get_docstring(ast.parse(path.read_text())) is None
    ]
    assert silent == []


def test_no_two_tests_of_a_file_share_a_name():
    doubles = []
    for path in FILES:
        if path.name.startswith("test_"):
            for scope in ast.walk(ast.parse(path.read_text())):
                if isinstance(scope, (ast.Module, ast.ClassDef)):
                    counts = collections.Counter(
                        node.name for node in scope.body if isinstance(node, ast.FunctionDef)
                    )
                    doubles += [f"{name(path)} {test}" for test, times in counts.items() if times > 1]
    assert doubles == []


def test_no_test_of_random_values_has_a_limit_of_time():
    """Hypothesis has one of 200 ms, and one for making values: a busy machine exceeds them."""
    texts = {path: path.read_text() for path in FILES if "src" not in path.parts}
    given = {path: text for path, text in texts.items() if "\n@given(" in text}
    assert given
    hurried = [
        name(path)
        for path, text in given.items()
        if "deadline=None" not in text or "HealthCheck.too_slow" not in text
    ]
    for path, text in given.items():
        module = ast.parse(text)
        kept = {
            target.id
            for line in module.body
            if isinstance(line, ast.Assign) and "settings(" in ast.unparse(line.value)
            for target in line.targets
        }
        for test in [f for f in module.body if isinstance(f, ast.FunctionDef)]:
            shown = [ast.unparse(d) for d in test.decorator_list]
            if any(d.startswith("given(") for d in shown):
                limits = [d for d in shown if d.startswith("settings(") or d in kept]
                hurried += [] if limits else [f"{name(path)} {test.name}"]
    assert hurried == []
