"""The page of vendors names every package that drives a PJRT library, with the wheels that it looks for."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = [
    [cell.strip() for cell in line.strip("| \n").split(" | ")]
    for line in (ROOT / "docs" / "vendors.md").read_text().splitlines()
    if line.startswith("| `")
]
WHEEL = re.compile(r"\b(?:jax-[a-z]+\d*-pjrt|xla-cpu-pjrt|libtpu)\b")
PACKAGES = sorted(
    {*ROOT.glob("pjrt_*/pyproject.toml"), *ROOT.glob("examples/third_party/rabbet-pjrt-*/pyproject.toml")}
    - {ROOT / "pjrt_cpu" / "pyproject.toml"}  # whose client is in jaxlib itself
)


def wheels_of(folder):
    """The libraries' distributions that a package's sources name."""
    texts = [path.read_text() for path in [folder / "pyproject.toml", *folder.glob("src/**/*.py")]]
    return set(WHEEL.findall("\n".join(texts)))


@pytest.mark.parametrize("pyproject", PACKAGES, ids=lambda path: path.parent.name)
def test_a_row_says_how_far_a_package_came(pyproject):
    folder = pyproject.parent
    name = re.search(r'^name = "([^"]+)"', pyproject.read_text(), re.M)[1]
    rows = [row for row in TABLE if f"`{name}`" in row[1] or f"{folder.relative_to(ROOT)}`" in row[1]]
    assert rows, f"docs/vendors.md has no row of {name}"
    told = set(WHEEL.findall(" ".join(row[0] for row in rows)))
    assert told and told <= wheels_of(folder), f"{name} looks for {wheels_of(folder)}, the page says {told}"
    assert all(len(row) == 3 and len(row[2]) > 20 for row in rows)


def test_every_row_is_of_a_package_that_is_here():
    assert len(TABLE) >= len(PACKAGES) == 5
