"""Run the suite and write the tables and the picture of docs/benchmarks.md.

    python benchmarks/report.py [--pairs 3] [--only NAME ...] [--frameworks rabbet,jax] [--dry]

Frameworks alternate, each in a process of its own; those not installed are left out. Results are checked
against each other: if one disagrees, nothing is written and the exit status is 1. `--dry` prints and leaves
the page alone, and so does `--only`, which runs the programs whose title has NAME in it.
"""

import argparse
import os
import pathlib
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import picture
import runs
import suite
import table

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
PAGE, PICTURE = DOCS / "benchmarks.md", DOCS / "benchmarks.svg"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"


def installed(package):
    """`package VERSION`, or that it is not there."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"no {package}"


def where(pairs):
    """The line above the table: what was measured, and on what."""
    packages = ", ".join(map(installed, ("jaxlib", "jax", "torch", "numpy")))
    return (
        f"Ratios of the least readings of {pairs} rounds of processes, and of {2 * pairs} for programs that "
        f"were over a budget in the first {pairs}; {packages}, "
        f"Python {platform.python_version()}, {os.cpu_count()} cores ({platform.machine()})."
    )


def measure(programs, pairs, frameworks):
    """Run `programs`; the table's rows, growth studies by title, failures and disagreements."""
    rows, studies, failed, differ = [], {}, [], []
    for program in programs:
        start = time.perf_counter()
        results = runs.alternate(program, pairs, frameworks)
        if any((row.excess or 0) > 1 for row in table.rows_of(program, results)):
            # A shared machine may be slow for minutes: as many rounds again, for all frameworks.
            for name, more in runs.alternate(program, pairs, frameworks).items():
                results[name] += more
        failed += table.failures(program, results)
        differ += runs.disagreements(program.title, results)
        if program.growth:
            studies[program.title.split()[-1]] = table.curves(results)
        found = table.rows_of(program, results)
        rows += found
        print(f"-- {program.title}: {time.perf_counter() - start:.0f} s", flush=True)
        for row in found:
            print(table.line(row, list(table.OTHERS)), flush=True)
    return rows, studies, failed, differ


def page(rows, studies, failed, pairs):
    """What stands between the page's markers: the picture first, then the tables."""
    parts = [f"{where(pairs)} {table.summary(rows)}", *(["\n".join(failed)] if failed else [])]
    if find_spec("matplotlib"):
        parts.append(f"![Step times as ratios, and how cost grows]({PICTURE.name})")
    parts += ["### Ratios", table.table(rows)]
    titles = {"ops": "operations", "layers": "layers", "sizes": "elements"}
    growth = [table.growth_table(titles[study], found) for study, found in studies.items() if found]
    return "\n\n".join([*parts, *(["### How cost grows", *growth] if growth else [])])


def write(text, path):
    """Replace what stands between the page's markers."""
    before, rest = path.read_text().split(BEGIN)
    _, after = rest.split(END)
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--frameworks", default="rabbet,jax,torch,torch_compile,numpy")
    parser.add_argument("--dry", action="store_true")
    return parser.parse_args()


def main():
    chosen = options()
    frameworks = [f for f in chosen.frameworks.split(",") if runs.interpreter(f)[1]]
    programs = [p for p in suite.SUITE if not chosen.only or any(name in p.title for name in chosen.only)]
    if not programs:
        sys.exit(f"no program is called that; there are {', '.join(p.title for p in suite.SUITE)}")
    rows, studies, failed, differ = measure(programs, chosen.pairs, frameworks)
    text = page(rows, studies, failed, chosen.pairs)
    print("", text, *differ, sep="\n")
    if differ:
        sys.exit("results disagree, as listed above: nothing was written")
    if not (chosen.dry or chosen.only):
        write(text, PAGE)
        if find_spec("matplotlib"):
            picture.draw(PICTURE, rows, studies)
        print(f"written to {PAGE}")
    if any(row.failed for row in rows):
        sys.exit("rabbet failed on a program, as listed above")


if __name__ == "__main__":
    main()
