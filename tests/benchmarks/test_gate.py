"""What the gate calls slower, and what it installs."""

import importlib
import os
import pathlib
import sys

import pytest

pytestmark = pytest.mark.exhaustive

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def gate(monkeypatch):
    """The gate's module; it is a script beside others, not a package."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    monkeypatch.setenv("RABBET_PYTHON", "")
    yield importlib.import_module("gate")
    for name in ("gate", "runs"):
        sys.modules.pop(name, None)


def test_only_what_is_a_tenth_slower_both_times_counts(gate):
    first = {
        ("micro.py", "eager_add"): {"old": 5.0, "new": 5.4},
        ("micro.py", "eager_tanh"): {"old": 5.0, "new": 6.0},
        ("micro.py", "jit_2_args"): {"old": 5.0, "new": 7.0},
        ("mlp.py", "step_ms_min"): {"old": 0.01, "new": 0.1},  # too short to be measured
    }
    second = {
        ("micro.py", "eager_tanh"): {"old": 5.0, "new": 5.1},
        ("micro.py", "jit_2_args"): {"old": 5.0, "new": 6.5},
    }
    assert set(gate.slower(first)) == {("micro.py", "eager_tanh"), ("micro.py", "jit_2_args")}
    assert gate.confirmed(gate.slower(first), gate.slower(second)) == {("micro.py", "jit_2_args"): 1.3}


def test_rounds_alternate_and_the_least_counts(gate, monkeypatch):
    order, times = [], iter([3.0, 1.0, 2.0, 5.0])

    def run(name, command, cache, warm):
        order.append(os.environ["RABBET_PYTHON"])
        return {"step_ms_min": next(times), "framework": "rabbet"}

    monkeypatch.setattr(gate.runs, "run", run)
    figures, failed = gate.measure(["mlp.py"], {"old": "python-old", "new": "python-new"}, 2)
    assert order == ["python-old", "python-new"] * 2
    assert figures == {("mlp.py", "step_ms_min"): {"old": 2.0, "new": 1.0}}
    assert not failed


def test_a_program_that_fails_is_told(gate, monkeypatch):
    monkeypatch.setattr(gate.runs, "run", lambda *arguments: {"failed": "ImportError"})
    assert gate.measure(["mlp.py"], {"old": "a", "new": "b"}, 2)[1] == [
        "mlp.py, old: ImportError", "mlp.py, new: ImportError"
    ]  # fmt: skip


def test_every_distribution_is_installed(gate):
    names = {folder.name for folder in gate.distributions(ROOT)}
    assert {"core", "jit", "autodiff", "pjrt_cpu"} <= names


def test_packages_of_older_commits_are_installed_too(gate, tmp_path):
    for name in ("core", "plugins/jit", "plugins/language/lax", "pjrt_cpu"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "pyproject.toml").touch()
    (tmp_path / "plugins/jit/tests").mkdir()
    assert {folder.name for folder in gate.distributions(tmp_path)} == {"core", "jit", "lax", "pjrt_cpu"}
