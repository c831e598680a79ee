"""Writes docs/codebases.md and the badge of the landing page.

They are made of `tests/codebases/results.json`, which `tools/check/codebases.py` makes.

python tools/write/codebases_page.py            # write
python tools/write/codebases_page.py --check    # exit 1 where the page is another
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULTS = ROOT / "tests" / "codebases" / "results.json"
PAGE = ROOT / "docs" / "codebases.md"
BADGE = ROOT / "docs" / "assets" / "codebases.svg"
# The landing page shows it: a word, and how many of how many.
DRAWN = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" \
aria-label="{left}: {right}"><title>{left}: {right}</title>
<rect width="{split}" height="20" fill="#444"/><rect x="{split}" width="{rest}" height="20" fill="#2b7a4b"/>
<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{one}" y="14">{left}</text><text x="{other}" y="14">{right}</text></g></svg>
"""
HEAD = """# Code bases that were tried

{equal} of {tried} packages run on Rabbet with JAX's numbers.

The newest releases of packages that are written for JAX, as an installer chooses them beside the newest
jax, without pins. Of each a small program of its usual functions (`tests/codebases/programs`) ran under JAX
and, unchanged, under `python -m rabbet_jax`; the numbers that it prints must agree within 1e-4, relative and
absolute. The packages' own tests did not run here: [JAX's libraries](jax_libraries.md) has those that did.
`tox run -e codebases` runs them all anew, with what is newest then. It is no part of the usual list, since it
takes about half an hour; run it before a release. `tools/write/codebases_page.py` writes this page of it.

| package | version | jax | what ran | numbers | seconds, JAX | seconds, Rabbet |
|---|---|---|---|---|---|---|
"""
TIME = """
Seconds are processor time of the whole program, once, with caches of compiled programs as they were on a
machine that did other work at the same time: they show that nothing takes far longer, and no more.
"""


def row(entry):
    (package, version), *_ = entry["versions"].items()
    seconds = entry["seconds"]
    cells = (
        package,
        version,
        entry["versions"]["jax"],
        entry["does"],
        entry["numbers"],
        seconds["jax"],
        seconds["rabbet"],
    )
    return "| " + " | ".join(map(str, cells)) + " |"


def said(text):
    """A message of a library as one cell of a table."""
    return "`" + " ".join(text.split())[:160].replace("|", "/").replace("`", "'") + "`"


def outcomes():
    """The entries by their outcomes, and how many ran under JAX."""
    by = {name: [] for name in ("equal", "differs", "stops", "fails under JAX", "not installed")}
    for name, entry in json.loads(RESULTS.read_text()).items():
        by[entry["outcome"]].append((name, entry))
    return by, len(by["equal"]) + len(by["differs"]) + len(by["stops"])


def badge():
    """The picture for the landing page."""
    by, tried = outcomes()
    left, right = "code bases for JAX", f"{len(by['equal'])} of {tried} equal"
    split, rest = [10 + 7 * len(words) for words in (left, right)]
    return DRAWN.format(
        left=left, right=right, split=split, rest=rest, width=split + rest, one=split // 2,
        other=split + rest // 2,
    )  # fmt: skip


def page():
    by, tried = outcomes()
    text = HEAD.format(equal=len(by["equal"]), tried=tried)
    text += "\n".join(row(entry) for _, entry in by["equal"]) + "\n" + TIME
    ours = [*by["stops"], *by["differs"]]
    text += "\n## What stops the others\n\n"
    if ours:
        text += "| package | version | what |\n|---|---|---|\n"
        for _, entry in ours:
            (package, version), *_ = entry["versions"].items()
            text += f"| {package} | {version} | {said(entry['why'])} |\n"
    else:
        text += "None is stopped.\n"
    theirs = [*by["fails under JAX"], *by["not installed"]]
    if theirs:
        text += "\n## What did not run under JAX itself\n\n"
        text += "Nothing can be compared then, so they are not counted.\n\n"
        text += "| package | version | what JAX says |\n|---|---|---|\n"
        for name, entry in theirs:
            (package, version), *_ = entry.get("versions", {name: "?"}).items()
            text += f"| {package} | {version} | {said(entry['why'])} |\n"
    return text


def made_of_results():
    """Each file, and what belongs into it."""
    return (PAGE, page()), (BADGE, badge())


def main():
    if "--check" in sys.argv:
        for path, made in made_of_results():
            if not path.exists() or path.read_text() != made:
                sys.exit(
                    f"{path.relative_to(ROOT)} is not what tests/codebases/results.json says: run this "
                    "without --check"
                )
        return
    for path, made in made_of_results():
        path.write_text(made)
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
