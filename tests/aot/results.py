"""What became of every row of the conformance table when it was compiled for hardware that is not here."""

import functools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from rabbet.testing import rows

SCRIPT = Path(__file__).with_name("compile_rows.py")
FAMILIES = rows.names()
TOPOLOGIES = {"tpu": "v5e:2x2", "cuda": "h100"}
# How a compiler begins the line in which it says why it ends the process.
LAST_WORDS = re.compile(r"^(?:F\d{4} [\d:.]+ +\d+ |LLVM ERROR: )(?P<words>.*)", re.MULTILINE)
# Compiled as one program: more is quicker, until a refusal is looked for in it.
SIZE = 16
LIMIT = 1800


def names(family):
    """The names of a family's rows."""
    return [row.name for row in rows.family(family)]


@functools.cache
def all_failures(platform):
    """Compile all rows, in a process of their own, and in another one whenever a compiler ends it.

    Returns:
      a dict from families to dicts from the names of the rows that do not compile to the reason, one line.
    """
    found = {family: {} for family in FAMILIES}
    groups = []
    for family in FAMILIES:
        count = len(names(family))
        groups += [[family, list(range(i, min(i + SIZE, count)))] for i in range(0, count, SIZE)]
    while groups:
        done, last = run(platform, groups)
        assert done, f"{platform} {groups[0]}: {last}"
        for group, reason in done:
            groups.remove(group)
            if reason is None:
                continue
            family, rows_of_it = group
            if len(rows_of_it) == 1:
                found[family][names(family)[rows_of_it[0]]] = reason
            else:  # who is it?
                half = len(rows_of_it) // 2
                groups += [[family, rows_of_it[:half]], [family, rows_of_it[half:]]]
    return {
        family: {n: refused[n] for n in names(family) if n in refused} for family, refused in found.items()
    }


def failures(platform, family):
    """What `all_failures` tells of one family. A process for each would start thirty times."""
    return all_failures(platform)[family]


def run(platform, groups):
    """Compile groups of rows in one process.

    Returns:
      (pairs of a group that was tried and the reason why it did not compile, or None; the last of what was
      said on standard error)
    """
    command = [sys.executable, str(SCRIPT), platform, TOPOLOGIES[platform]]
    ended = subprocess.run(
        command, input=json.dumps(groups), capture_output=True, text=True, timeout=LIMIT, check=False,
        env={**os.environ, "RABBET_CACHE": "0"},
    )  # fmt: skip
    done, begun = [], None
    for event in map(json.loads, ended.stdout.splitlines()):
        begun = event["group"] if event["state"] == "begun" else None
        if begun is None:
            done.append((event["group"], event.get("reason")))
    if begun is not None:
        done.append((begun, f"the compiler ends the process: {last_words(ended.stderr)}"))
    return done, ended.stderr[-4000:]


def last_words(text):
    """What a compiler said before it ended the process, one line."""
    found = LAST_WORDS.search(text)
    return found["words"].strip() if found else (text.strip().splitlines() or ["nothing"])[-1]
