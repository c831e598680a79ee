"""The fit and the table of how traffic between processes grows."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def processes(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import processes

    yield processes
    sys.modules.pop("processes")


def rows(of):
    names = "join_s agree_s agree_calls beat_calls beat_bytes busy death_s start_ratio".split()
    return [{"processes": n, **{name: of(n) for name in names}} for n in (2, 8, 64)]


@pytest.mark.parametrize("power", [0, 0.5, 1, 2])
def test_slopes_of_powers(processes, power):
    assert processes.slope(rows(lambda n: 3 * n**power), "busy") == pytest.approx(power, abs=1e-9)


def test_a_value_that_is_missing_has_no_slope(processes):
    assert processes.slope(rows(lambda n: None if n == 8 else n), "death_s") is None


def test_the_table(processes):
    made = processes.table(rows(lambda n: None if n == 64 else float(n)))
    assert len(made) == 6 and {line.count("|") for line in made} == {len(processes.COLUMNS) + 2}
    assert "not within 40" in made[4] and made[-1].startswith("| slope | ")


def test_the_page_has_the_table(processes):
    page = processes.PAGE.read_text()
    made = page.partition(processes.BEGIN)[2].partition(processes.END)[0].splitlines()
    assert [title.strip() for title in made[2].split("|")[2:-1]] == list(processes.COLUMNS)
    found = [line.split("|")[1].strip() for line in made[4:]]
    assert found == [*map(str, processes.NUMBERS), "slope"]
