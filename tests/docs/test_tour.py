"""The tour in one file runs, and what it points at in the real one exists."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOUR = ROOT / "docs" / "tour.py"
AUTODIFF = "plugins/transformations/autodiff/src/rabbet_autodiff/recorder.py"
CORE = ROOT / "core" / "src" / "rabbet"


def test_the_tour_holds():
    done = subprocess.run([sys.executable, str(TOUR)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("all of the tour holds\n")


def test_it_uses_nothing_of_the_real_one():
    assert re.findall(r"^\s*(?:import|from) rabbet", TOUR.read_text(), re.M) == []


def test_it_points_at_what_exists():
    text = re.sub(r"\n#\s?", " ", TOUR.read_text())
    text = text.replace("recorder.py in plugins/transformations/autodiff/src/rabbet_autodiff/", AUTODIFF)
    told = re.findall(r"\b(?:[a-z_]+/)+(?:[a-z_-]+(?:\.(?:py|md))?)?", text)
    assert len(told) > 15
    assert [path for path in told if not (CORE / path).exists() and not (ROOT / path).exists()] == []
