"""The tests in ``many`` need eight devices, so they run in a process of their own: one for all its files."""

import os
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import pytest

MANY = Path(__file__).parent / "many"
NO_TESTS = pytest.ExitCode.NO_TESTS_COLLECTED  # where marks leave none
ENVIRONMENT = {"RABBET_NUM_CPU_DEVICES": "8", "RABBET_PLATFORMS": "cpu"}


@pytest.fixture(scope="module")
def failures(request, tmp_path_factory):
    """What failed in the files that were chosen here: texts by the name of the file.

    A child for each file would spend half of its time on starting, and compile what the others have compiled.
    """
    here = [item for item in request.session.items if item.path == Path(__file__)]
    files = [str(item.callspec.params["path"]) for item in here if hasattr(item, "callspec")]
    report = tmp_path_factory.mktemp("children") / "report.xml"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--no-header", *files]
    command += ["--continue-on-collection-errors", "-o", "junit_family=xunit1", f"--junitxml={report}"]
    chosen = request.config.getoption("markexpr").split(" and ")
    command += ["-m", " and ".join([mark for mark in chosen if mark in ("not exhaustive", "not library")])]
    env = {**os.environ, **ENVIRONMENT}
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_CURRENT_TEST"):
        env.pop(name, None)
    ran = subprocess.run(command, env=env, capture_output=True, text=True, timeout=1800, check=False)
    said = ran.stdout[-8000:] + ran.stderr[-2000:]
    assert ran.returncode in (0, 1, NO_TESTS) and report.exists(), said
    found = failed_by_file(report)
    assert ran.returncode != 1 or found, said
    return found


def failed_by_file(report):
    """The texts of failures and errors in a report of pytest's, by the name of the file."""
    found = {}
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        # A file that could not be read has no attribute; its name is that of the case.
        name = Path(case.get("file") or case.get("name").replace(".", "/")).stem
        for kind in ("failure", "error"):
            for one in case.findall(kind):
                found.setdefault(name, []).append(f"{case.get('name')}: {one.text or one.get('message')}")
    return found


@pytest.mark.needs("cpu", "jit", "grad", "vmap", "numpy")
@pytest.mark.rows(100)
@pytest.mark.parametrize("path", sorted(MANY.glob("test_*.py")), ids=lambda path: path.stem)
def test_on_eight_devices(path, failures):
    assert path.stem not in failures, "\n\n".join(failures[path.stem])[-10000:]


def test_every_failure_is_told_of_its_file(tmp_path):
    """One that fails, one in a fixture, one file that cannot be read, and one where all is well."""
    for name, text in {
        "test_bad": "def test_a(): assert 1 == 2\ndef test_b(): pass",
        "test_fixture": "import pytest\n@pytest.fixture\ndef f(): raise OSError\ndef test_c(f): pass",
        "test_unread": "import no_such_module",
        "test_good": "def test_d(): pass",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    report = tmp_path / "report.xml"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
    command += ["-o", "junit_family=xunit1", f"--junitxml={report}", f"--rootdir={tmp_path}", str(tmp_path)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 1, ran.stdout
    assert sorted(failed_by_file(report)) == ["test_bad", "test_fixture", "test_unread"]
    assert "1 == 2" in failed_by_file(report)["test_bad"][0]
