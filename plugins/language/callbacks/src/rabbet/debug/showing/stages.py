"""A program at each stage, line by line, with the user's lines that they come from."""

import re
from typing import Any, NamedTuple

from rabbet.errors import RabbetError
from rabbet.extend.passes import (
    ClosedJaxpr,
    PassContext,
    all_passes,
    bodies_of,
    consts_as_inputs,
    is_on,
    program_lines,
)

# ` loc(#l3)` at the end of a line, and what `#l3` is: a place, or a path of names and where its place stands.
USED = re.compile(r" loc\(#(\w+)\)$")
DEFINED = re.compile(r'^#(\w+) = loc\("(.*)":(\d+):\d+\)$')
NAMED = re.compile(r'^#(\w+) = loc\(".*"\(#(\w+)\)\)$')
# What XLA writes behind an instruction: a place, or the number of a frame in its tables above.
METADATA = re.compile(r", metadata=\{[^}]*\}")
FILE, LINE = re.compile(r'source_file="([^"]*)"'), re.compile(r"source_line=(\d+)")
FRAME = re.compile(r"stack_frame_id=(\d+)")
TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")


class Stage(NamedTuple):
    """A program as text: ``lines`` are pairs of a text and ``(file, line)`` or None."""

    title: str
    about: str
    lines: list[tuple[str, Any]]


def traced_stage(closed: ClosedJaxpr) -> Stage:
    """The program as it was traced."""
    count = equations(closed.jaxpr)
    return Stage("jaxpr", f"As it was traced: {count} equations.", located(closed.jaxpr))


def passed_stage(closed: ClosedJaxpr, platform: str) -> Stage:
    """The program after Rabbet's passes, and what each of them did."""
    program = consts_as_inputs(closed)
    before, told = equations(program), []
    chosen = [p for p in all_passes() if is_on(p) and (p.platforms is None or platform in p.platforms)]
    for one in chosen:
        after = one.apply(program, PassContext(platform))
        if (count := equations(after)) != before:
            told.append(f"{one.name} left {count}")
        program, before = after, count
    changes = "; ".join(told) or "none changed the number of equations"
    names = ", ".join([p.name for p in chosen])
    about = f"After the passes {names}: {before} equations ({changes}). Captured arrays are inputs here."
    return Stage("after passes", about, located(program))


def stablehlo_stage(lowered: Any) -> Stage:
    """The StableHLO module."""
    texts: list[str] = []
    known: dict[str, Any] = {}
    for line in lowered.as_text(debug_info=True).splitlines():
        if found := DEFINED.match(line):
            known[found[1]] = found[2], int(found[3])
        elif found := NAMED.match(line):
            known[found[1]] = known.get(found[2])
        else:
            texts.append(line)
    lines = []
    for line in texts:
        found = USED.search(line)
        lines.append((line[: found.start()], known.get(found[1])) if found else (line, None))
    return Stage("StableHLO", "What the compiler is given.", indented(lines))


def hlo_stage(lowered: Any) -> Stage:
    """The HLO module before the compiler's passes."""
    return Stage("HLO", "The same as HLO, before the compiler's passes.", of_hlo(lowered.as_text("hlo")))


def compiled_stage(lowered: Any) -> tuple[Stage, Any]:
    """The HLO module after the compiler's passes, and the ``Compiled``, or None if it cannot be compiled."""
    try:
        compiled = lowered.compile()
        return Stage(
            "optimized HLO", "After the compiler's passes, as it runs.", of_hlo(compiled.as_text())
        ), compiled
    except RabbetError as error:
        lines: list[tuple[str, Any]] = [(line, None) for line in str(error).splitlines()]
        return Stage("optimized HLO", "The compiler refuses it.", lines), None


def located(program):
    """The lines of a program."""
    return [
        (line, None if position is None else (position.file, position.line))
        for line, position in program_lines(program)
    ]


def of_hlo(text):
    """The lines of an HLO module, their metadata and its tables read and left out."""
    lines, tables = tables_of(text)
    places = {}
    for frame, row in tables["StackFrames"].items():
        location = tables["FileLocations"].get(field(row, "file_location_id"), "")
        file, number = tables["FileNames"].get(field(location, "file_name_id")), field(location, "line")
        if file and number:
            places[frame] = file.strip('"'), int(number)
    found = []
    for line in lines:
        file, number, frame = FILE.search(line), LINE.search(line), FRAME.search(line)
        place = (file[1], int(number[1])) if file and number else frame and places.get(frame[1])
        found.append((METADATA.sub("", line), place))
    return found


def tables_of(text):
    """The lines of an HLO module without its tables of frames, and the tables: rows by number."""
    lines, tables, table = [], {name: {} for name in TABLES}, None
    for line in text.splitlines():
        number, _, row = line.partition(" ")
        if line in tables:
            table = tables[line]
        elif table is not None and number.isdigit():
            table[number] = row
        elif line or table is None:
            table = None
            lines.append(line)
    return lines, tables


def field(row, name):
    """A number of a row such as ``{file_name_id=1 line=4}``, as text; None if it is not there."""
    found = re.search(rf"\b{name}=(\d+)", row)
    return found and found[1]


def indented(lines):
    """Lines set in by the depth of their braces."""
    found, depth = [], 0
    for text, place in lines:
        bare = text.strip()
        inner = depth - 1 if bare.startswith("}") else depth
        label = bare.startswith("^")
        found.append(("  " * max(0, inner - label) + bare, place))
        depth += text.count("{") - text.count("}")
    return found


def equations(program):
    """How many equations a program has, with those of its bodies."""
    return sum(1 + sum(equations(body) for _, body in bodies_of(eqn.op)) for eqn in program.equations)


__all__ = [
    "Stage", "compiled_stage", "equations", "hlo_stage", "passed_stage", "stablehlo_stage", "traced_stage",
]  # fmt: skip
