"""docs/reliability.md says where each sentence is tested, and the tests are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_tests_that_the_page_names_exist():
    page = (ROOT / "docs" / "reliability.md").read_text()
    _, table = page.split("## Where each of these is tested")
    named, missing = 0, []
    for row in table.splitlines():
        file = None
        for given, name in re.findall(r"`([\w/.]*)::(\w+)`", row):
            file = given or file  # `::name` is in the file before it
            path = ROOT / file if "/" in file else ROOT / "tests" / "reliability" / file
            named += 1
            if not path.exists() or f"def {name}(" not in path.read_text():
                missing.append(f"{file}::{name}")
    assert named > 50
    assert not missing
