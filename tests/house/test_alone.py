"""Which tests run where their package is alone, so that `-m "not alone"` leaves them out elsewhere.

What is left out in one environment and skipped in the other would run nowhere on the newest jaxlib.
"""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("conftest_of_the_root", ROOT / "conftest.py")
conftest = importlib.util.module_from_spec(spec)
spec.loader.exec_module(conftest)
SCIPY, CHECKIFY = ROOT / "plugins/functions/scipy", ROOT / "plugins/transformations/checkify"


@pytest.mark.parametrize(
    "folder, text",
    [
        (SCIPY, '@pytest.mark.needs("jit", "vmap")'),
        (SCIPY, "nothing"),
        (SCIPY, 'pytest.importorskip("rabbet.numpy")'),
        (SCIPY, 'pytest.importorskip("mpmath")'),  # its extra `test` has it
        (SCIPY, 'pytest.importorskip("rabbet.lax.linalg", reason="x")'),
        (ROOT / "core", '@pytest.mark.needs("cpu", "custom_rules")'),
    ],
)
def test_what_a_package_requires_is_there(folder, text):
    assert conftest.Alone(folder).suffices(text)


@pytest.mark.parametrize(
    "folder, text",
    [
        (SCIPY, '@pytest.mark.needs("jit", "sparse_is_no_requirement")'),
        (SCIPY, 'pytest.importorskip("rabbet_bfloat16")'),
        (SCIPY, 'pytest.importorskip("rabbet.no_such_module")'),
        (CHECKIFY, 'pytest.importorskip("scipy.special")'),
        (CHECKIFY, 'pytest.importorskip(f"rabbet_{name}")'),
        (CHECKIFY, "pytest.mark.needs(name)"),
        (ROOT / "core", '@pytest.mark.needs("jit")'),
        (ROOT / "pjrt_cpu", 'pytest.importorskip("rabbet_convolution")'),
    ],
)
def test_all_else_is_missing_and_what_is_computed_counts_as_missing(folder, text):
    assert not conftest.Alone(folder).suffices(text)


def test_a_package_is_found_beside_its_tests_and_nothing_elsewhere():
    assert conftest.package_of(SCIPY / "tests" / "test_fft.py") == SCIPY
    assert conftest.package_of(ROOT / "core/tests/runtime/test_transfer.py") == ROOT / "core"
    for other in ("tests/house/test_alone.py", "pjrt_cuda/tests/test_on_gpu.py"):
        assert conftest.package_of(ROOT / other) is None


def test_a_test_is_judged_by_its_own_text_its_marks_and_the_head_of_its_file(tmp_path):
    """A file that asks in one function for what is missing: its other tests run alone all the same."""
    path = ROOT / "pjrt_cpu" / "tests" / "test_windows.py"
    module = importlib.util.module_from_spec(importlib.util.spec_from_file_location("asked", path))
    module.asks = lambda: pytest.importorskip("rabbet.numpy")
    module.asks_not = lambda: None

    class Item:
        def __init__(self, path, function, *needed):
            self.path, self.function, self.needed = path, function, needed

        def iter_markers(self, name):
            return [pytest.mark.needs(*self.needed).mark] if self.needed else []

    assert not conftest.whole_file_alone(path)
    assert not conftest.runs_alone(Item(path, module.asks))  # the head of this file asks for others
    assert not conftest.runs_alone(Item(path, module.asks_not))
    long = ROOT / "pjrt_cpu" / "tests" / "test_long_programs.py"
    assert not conftest.whole_file_alone(long)
    assert not conftest.runs_alone(Item(long, module.asks))
    assert conftest.runs_alone(Item(long, module.asks_not))
    assert not conftest.runs_alone(Item(long, module.asks_not, "jit"))


def test_what_is_installed_is_what_the_environments_install():
    text = (ROOT / "tools" / "check" / "minimal.py").read_text()
    names = {(ROOT / folder).name for folder in ("core", "pjrt_cpu", "plugins/tooling/testing")}
    assert all(f'"{name}"' in text.partition("BASE = [")[2].partition("]")[0] for name in names)
    assert {f"rabbet-{name}".replace("_", "-") for name in names} == set(conftest.WITH_ALL)
    tox = (ROOT / "tox.ini").read_text().partition("[testenv:core-only]")[2].partition("\n\n")[0]
    installed = tox.partition("wheels.py ")[2].partition("\n")[0].split()
    expected = {f"rabbet-{Path(folder).name}".replace("_", "-") for folder in installed}
    assert expected == {*conftest.WITH_ALL, *conftest.WITH_CORE}
