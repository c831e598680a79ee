"""The commands as a user runs them: explain, passes, cache, devices, and what the doctor finds with them."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import rabbet as rb
from rabbet_cli.pass_profile import profiled


def rabbet(*arguments, **options):
    command = [sys.executable, "-m", "rabbet", *arguments]
    return subprocess.run(command, capture_output=True, text=True, **options)


def test_explain_shows_rules_and_where_they_stand():
    done = rabbet("explain", "mul")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("mul (") and "elementwise.py:" in done.stdout
    assert "rabbet-core" in done.stdout
    done = rabbet("explain", "mull")
    assert done.returncode == 1 and "did you mean mul" in done.stderr


def broken_package(folder):
    """An installed package whose module raises; it makes a primitive, and rules for vmap's table."""
    (folder / "toast_rules").mkdir()
    (folder / "toast_rules" / "__init__.py").write_text(
        "import nowhere_to_be_found\nfrom rabbet.extend.primitive import Primitive\n\n"
        "toast = Primitive(\n    'toast_bread', lambda x: x)\n"
    )
    info = folder / "rabbet_toast-0.3.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rabbet-toast\nVersion: 0.3\n")
    (info / "entry_points.txt").write_text("[rabbet.rules]\nbatch = toast_rules:RULES\n")
    return {**os.environ, "PYTHONPATH": str(folder)}


def test_explain_tells_of_packages_that_are_broken_or_switched_off(tmp_path):
    env = broken_package(tmp_path)
    done = rabbet("explain", "mul", env=env)
    assert done.returncode == 0
    said = "left out of batch: the rules of rabbet-toast 0.3 (toast_rules:RULES), which"
    assert f"{said} cannot be used: ModuleNotFoundError: No module named" in done.stdout
    assert "rabbet doctor" in done.stdout
    done = rabbet("explain", "toast_bread", env=env)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "rabbet-toast 0.3 (toast_rules:RULES) makes one, in toast_rules/__init__.py:4" in done.stderr
    done = rabbet("explain", "butter_bread", env=env)
    assert done.returncode == 1 and "it may be one of rabbet-toast: not loaded" in done.stderr
    off = {**env, "RABBET_DISABLE_PLUGINS": "rabbet-toast"}
    done = rabbet("explain", "mul", env=off)
    assert f"{said} RABBET_PLUGINS or RABBET_DISABLE_PLUGINS switches off" in done.stdout
    assert rabbet("doctor", "--quiet", env=env).returncode == 1


def test_passes_lists_them():
    done = rabbet("passes")
    assert done.returncode == 0, done.stderr
    assert "dead-code" in done.stdout


def test_passes_profiles_a_script(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys, rabbet as rb\nprint(sys.argv[1], rb.lax.sin(rb.lax.full((3,), 1.0)).shape)\n"
    )
    done = rabbet("passes", "--profile", str(script), "--word")
    assert done.returncode == 0, done.stderr
    assert "--word (3,)" in done.stdout
    assert "equations before" in done.stdout and "dead-code" in done.stdout
    done = rabbet("passes", "--profile")
    assert done.returncode == 1 and "--profile needs a script" in done.stderr


def test_profile_shows_the_scripts_own_traceback(tmp_path):
    script = tmp_path / "broken.py"
    assert f"there is no script '{script}'" in rabbet("passes", "--profile", str(script)).stderr
    script.write_text("def f():\n    raise ValueError('mine')\nf()\n")
    done = rabbet("passes", "--profile", str(script))
    assert done.returncode == 1
    assert "nothing was compiled" in done.stdout and "ValueError: mine" in done.stderr
    assert done.stderr.count("  File ") == done.stderr.count("broken.py") == 2


@pytest.mark.parametrize("action,word", [("info", "programs"), ("path", "programs"), ("clear", "removed 0")])
def test_cache(tmp_path, monkeypatch, action, word):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    done = rabbet("cache", action)
    assert done.returncode == 0, done.stderr
    assert word in done.stdout


def test_devices():
    done = rabbet("devices")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].split()[:2] == ["cpu", "0"]


def test_the_doctor_looks_at_all_of_it(monkeypatch):
    monkeypatch.setenv("RABBET_CACHES", "0")
    done = rabbet("doctor", "--json")
    report = json.loads(done.stdout)
    labels = {check["label"]: check for check in report["checks"]}
    assert labels["devices of cpu"]["ok"] is True
    assert "did you mean RABBET_CACHE?" in labels["RABBET_CACHES"]["detail"]
    assert "folder" in labels["cache"]["detail"] or labels["cache"]["detail"] == "switched off"
    assert report["broken"] == done.returncode == 0


def test_a_profile_counts_programs_equations_and_time():
    rb.clear_caches()
    with profiled() as totals:
        rb.lax.sin(np.ones((3, 1, 7), np.float32))
    dead = totals["dead-code"]
    assert (dead.programs, dead.before, dead.after) == (1, 1, 1) and dead.seconds > 0
