"""How `benchmarks/gallery.py` takes times."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.exhaustive

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
PROGRAM = """
import counted

def main():
    counted.calls += 1
    return {}
"""


def test_processor_time_that_is_counted_late_is_not_lost(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import gallery

    counted = SimpleNamespace(calls=0)
    monkeypatch.setitem(sys.modules, "counted", counted)
    (tmp_path / "program.py").write_text(PROGRAM)

    def late():  # 10 ms a call, and at every third the last one is not counted yet
        return 0.01 * (counted.calls - (counted.calls % 3 == 0))

    clock = iter(range(10**6))
    monkeypatch.setattr(gallery, "FOLDER", tmp_path)
    monkeypatch.setattr(gallery, "SECONDS", 300)
    monkeypatch.setattr(gallery, "time", SimpleNamespace(perf_counter=lambda: next(clock), process_time=late))
    found = gallery.measure("rabbet", "program")
    assert found["clock"] == pytest.approx(1000)
    assert found["processor"] == pytest.approx(10, rel=0.02)
