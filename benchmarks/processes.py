"""How the traffic between processes grows with their number: the table in docs/processes.md.

    python benchmarks/processes.py [--write] [2 4 8 16 32 64]

For each number a process of its own runs plugins/scale/distributed/tests/programs/slopes.py: so many members,
each with its own client at a real coordinator, as threads that compute nothing. The slope of a quantity is
the exponent p of the number of processes n in the fit ``n**p`` by least squares of logarithms: 0 does not
grow, 1 grows with the processes, 2 with their square. Needs rabbet-distributed.
"""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ROOT / "plugins/scale/distributed/tests/programs/slopes.py"
PAGE = ROOT / "docs/processes.md"
BEGIN, END = "<!-- made by benchmarks/processes.py -->\n", "<!-- end of the table -->"
NUMBERS = (2, 4, 8, 16, 32, 64)
COLUMNS = {  # a column's title: the quantity, its factor, its digits
    "forming the group, s": ("join_s", 1, 2),
    "agreeing on a program, ms": ("agree_s", 1000, 1),
    "calls for that": ("agree_calls", 1, 0),
    "heartbeats, calls/s": ("beat_calls", 1, 0),
    "heartbeats, kB/s": ("beat_bytes", 0.001, 1),
    "processors busy": ("busy", 1, 2),
    "a death known to all, s": ("death_s", 1, 1),
    "start with one compile": ("start_ratio", 1, 2),
}


def measured(count):
    """The row of so many members."""
    ran = subprocess.run(
        [sys.executable, str(PROGRAM), str(count)], capture_output=True, text=True, timeout=600, check=False
    )
    if ran.returncode:
        sys.exit(f"{PROGRAM.name} {count} failed with {ran.returncode}:\n{ran.stderr[-3000:]}")
    return json.loads(ran.stdout.splitlines()[-1])


def slope(rows, quantity):
    """The exponent of the number of processes in the fit of a quantity; None where a value is missing."""
    points = [(r["processes"], r[quantity]) for r in rows]
    values = [value for _, value in points if value]
    if len(points) < 2 or len(values) < len(points):
        return None
    x, y = [[math.log(p[i]) for p in points] for i in (0, 1)]
    middle, mean = sum(x) / len(x), sum(y) / len(y)
    over = sum([(a - middle) * (b - mean) for a, b in zip(x, y, strict=True)])
    return over / sum([(a - middle) ** 2 for a in x])


def table(rows):
    """The lines of the table: a row for each number of processes, and the slopes."""
    lines = ["| processes | " + " | ".join(COLUMNS) + " |", "|" + "---|" * (len(COLUMNS) + 1)]
    for row in rows:
        cells = [
            "not within 40" if row[q] is None else f"{row[q] * factor:,.{digits}f}"
            for q, factor, digits in COLUMNS.values()
        ]
        lines.append(f"| {row['processes']} | " + " | ".join(cells) + " |")
    found = [slope(rows, q) for q, _, _ in COLUMNS.values()]
    lines.append("| slope | " + " | ".join(["" if p is None else f"{p:.2f}" for p in found]) + " |")
    return lines


def main(arguments):
    numbers = [int(a) for a in arguments if a != "--write"] or list(NUMBERS)
    rows, load = [], os.getloadavg()[0]
    for count in numbers:
        rows.append(measured(count))
        print(json.dumps(rows[-1]), flush=True)
    text = "\n".join(table(rows)) + "\n"
    print(text)
    if "--write" in arguments:
        before, _, rest = PAGE.read_text().partition(BEGIN)
        _, end, after = rest.partition(END)
        if not end:
            sys.exit(f"{PAGE} has no place for the table: {BEGIN.strip()} and {END}")
        said = f"Measured on {os.cpu_count()} processors; load of the machine before: {load:.1f}.\n\n"
        PAGE.write_text(before + BEGIN + said + text + END + after)


if __name__ == "__main__":
    main(sys.argv[1:])
