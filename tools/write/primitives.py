"""Write docs/primitives.md: every primitive of the core, with its parameters, kinds, rules and StableHLO.

python tools/write/primitives.py            # writes the page
python tools/write/primitives.py --check    # fails if the page is not what would be written
"""

import argparse
import functools
import inspect
import pathlib
import re
import sys

import numpy as np
from rabbet.extend import primitive as door
from rabbet.extend.backend import lower_program
from rabbet.extend.passes import stage
from rabbet.extend.primitive import Primitive, ShapedArray
from rabbet.extend.transform import batch, jvp, transpose
from rabbet.testing import rows

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "primitives.md"
OPERATION = re.compile(r"\b(?:stablehlo|chlo)\.\w+")
# What programs carry, and what has no row to try it with.
BY_HAND = {
    "cond": "`stablehlo.case`", "jit": "`call` of a function", "while": "`stablehlo.while`",
    "scan": "`stablehlo.while`", "to_memory": "`stablehlo.custom_call` for the compiler, or nothing",
    "lies_in_memory": "nothing", "platform_index": "`stablehlo.constant`",
    "from_physical": "nothing: the stored array", "to_physical": "nothing: the stored array",
}  # fmt: skip
HEADINGS = {
    "elementwise": "Elementwise", "powers": "Powers and roots", "logic": "Comparison and logic",
    "complex_parts": "Parts of complex numbers", "complex_functions": "Functions of complex numbers",
    "convert": "Conversion", "shape": "Shapes", "layout": "Layout",
    "chlo_binary": "Other functions of two operands",
    "extremes": "Larger and smaller", "basic_reductions": "Reductions", "reductions": "Other reductions",
    "argmax_argmin": "Places of extremes",
    "contractions": "Products", "dynamic": "Slices at computed places",
    "gather": "Gather", "scatter": "Scatter", "branches": "Branches", "loops": "Loops", "scans": "Scans",
    "calls": "Calls", "barrier": "Barriers", "memory_spaces": "Memories", "platforms": "Platforms",
    "precision": "Precision", "extended_dtypes": "Stored elements", "no_tangent": "No derivative",
}  # fmt: skip


def primitives():
    """Core's primitives by the name that `rabbet.extend.primitive` gives them."""
    found = {name: getattr(door, name) for name in dir(door)}
    return {name: p for name, p in found.items() if isinstance(p, Primitive)}


def first_sentence(p):
    return inspect.getdoc(p).partition("\n\n")[0].replace("\n", " ")


def operations(p):
    """The StableHLO operations that the primitive is, by what its rows make of it; the fewest."""
    if p.name in BY_HAND:
        return BY_HAND[p.name]
    best = None
    for row in [row for row in core_rows() if row.primitive is p][:3]:
        dtype = row.dtypes[0]
        drawn = [draw(np.random.default_rng(0), dtype) for draw in row.inputs]
        types = [ShapedArray(x.shape, x.dtype) for x in drawn]
        params = row.params(dtype) if callable(row.params) else row.params
        call = lambda *xs, params=params: results(p, xs, params)
        text = lower_program(stage(call, types).jaxpr, "nobody").module.key_text
        found = list(dict.fromkeys(OPERATION.findall(text)))
        if not best or 0 < len(found) < len(best):
            best = found
    if best is None:
        raise SystemExit(f"{p.name} has no row in rabbet.testing.rows: say in BY_HAND what it becomes")
    return ", ".join(f"`{name}`" for name in best) or "nothing"


@functools.cache
def core_rows():
    return [row for family in rows.families().values() for row in family]


def results(p, xs, params):
    out = p(*xs, **params)
    return list(out) if p.multiple_results else [out]


def how(table, p):
    """How a table treats a primitive, in a word or two."""
    found = table.explain(p)
    if found is None:
        return "none"
    said = {"owner": "its own", "table": "its own", "kind": f"by the kind {found.detail}"}
    said["body"] = "through its programs"
    said["decomposition"] = "by its decomposition"
    return said.get(found.source, found.source)


def sections():
    """The primitives by the module that makes them, in the order of the headings."""
    by_module = {}
    for name, p in primitives().items():
        by_module.setdefault(p.__module__.rpartition(".")[2], []).append((name, p))
    unknown = by_module.keys() - HEADINGS.keys()
    if unknown:
        raise SystemExit(f"headings are missing for {sorted(unknown)}")
    for module, heading in HEADINGS.items():
        if module in by_module:
            yield heading, by_module[module]


def entry(name, p):
    """The lines of one primitive."""
    operands = p.operands or [
        str(q).partition(":")[0]
        for q in inspect.signature(p.abstract).parameters.values()
        if q.name not in p.parameters
    ]
    star = [] if any(operand.startswith("*") for operand in operands) else ["*"]
    shown = ", ".join([*operands, *([*star, *p.parameters] if p.parameters else [])])
    other = "" if p.name == name else f", `{p.name}` in programs"
    yield from ("", f"### `{name}({shown})`", "", f"{first_sentence(p)}{other}.", "")
    rules = ", ".join(f"{t.name} {how(t, p)}" for t in (jvp, transpose, batch))
    yield f"Kinds: {', '.join(p.kinds) or 'none'}. Rules: {rules}. StableHLO: {operations(p)}."
    if p.parameters:
        yield from ("", "| parameter | type | meaning |", "|---|---|---|")
        for parameter, said in p.parameters.items():
            kind, _, meaning = said.partition(": ")
            yield f"| `{parameter}` | {kind} | {meaning} |"


def page():
    """The whole page."""
    lines = [
        "---",
        "tags: [primitives, parameters, kinds, StableHLO]",
        "---",
        "",
        "# Primitives of the core",
        "",
        "This page is written by `tools/write/primitives.py`, and a test compares it with the code. Each",
        "primitive is a name of `rabbet.extend.primitive`; functions of `rabbet.lax` are these or make one.",
        "Parameters are given by name, and are not arrays. `rabbet explain NAME` says the same, and what",
        "every installed transformation does with it; `jaxpr.pretty_print(all_parameters=True)` shows those",
        "that are None too.",
    ]
    for heading, members in sections():
        lines += ["", f"## {heading}"]
        for name, p in members:
            lines += entry(name, p)
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description="write docs/primitives.md")
    parser.add_argument("--check", action="store_true")
    written = page()
    if not parser.parse_args().check:
        PAGE.write_text(written)
    elif not PAGE.exists() or PAGE.read_text() != written:
        sys.exit(f"{PAGE} is out of date: run python tools/write/primitives.py")


if __name__ == "__main__":
    main()
