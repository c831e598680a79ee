"""The two files of the tour run, and what they point at in the real one exists."""

import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOUR, MORE = ROOT / "docs" / "tour.py", ROOT / "docs" / "tour_of_gradients.py"
AUTODIFF = "plugins/transformations/autodiff/src/rabbet_autodiff/recorder.py"
CORE = ROOT / "core" / "src" / "rabbet"


@pytest.mark.parametrize(
    ("file", "end"), [(TOUR, "this half of the tour holds\n"), (MORE, "all of the tour holds\n")]
)
def test_the_tour_holds(file, end):
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(end)


def test_it_uses_nothing_of_the_real_one():
    text = TOUR.read_text() + MORE.read_text()
    assert re.findall(r"^\s*(?:import|from) rabbet", text, re.M) == []


def test_it_points_at_what_exists():
    text = re.sub(r"\n#\s?", " ", TOUR.read_text() + MORE.read_text())
    text = text.replace("recorder.py in plugins/transformations/autodiff/src/rabbet_autodiff/", AUTODIFF)
    told = re.findall(r"\b(?:[a-z_]+/)+(?:[a-z_-]+(?:\.(?:py|md))?)?", text)
    assert len(told) > 15
    assert [path for path in told if not (CORE / path).exists() and not (ROOT / path).exists()] == []
