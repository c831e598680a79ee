"""What differs between the programs of two processes: the first operation that does, and whose line it is."""

import base64
import re
import zlib

MOST = 16 << 20  # characters of a program that are compared
WIDTH = 160  # of an operation, as it is shown
PLACE = re.compile(r"^(#\w+) = loc\((.*)\)$")
USED = re.compile(r" loc\((#\w+)\)$")
LINE = re.compile(r'"([^"]+)":(\d+):\d+')
REFERENCE = re.compile(r"#\w+")


def packed(text):
    """A program's text as a short text."""
    return base64.b85encode(zlib.compress(text[:MOST].encode(), 1)).decode()


def unpacked(text):
    """What was packed, up to ``MOST`` characters."""
    return zlib.decompressobj().decompress(base64.b85decode(text), 4 * MOST).decode(errors="replace")


def operations(text):
    """The lines of a program, without where they come from; and where the others do: two lists and a dict."""
    lines, at, places = [], [], {}
    for line in text.splitlines():
        if found := PLACE.match(line):
            places[found[1]] = found[2]
            continue
        used = USED.search(line)
        lines.append(line[: used.start()] if used else line)
        at.append(used[1] if used else None)
    return lines, at, places


def where(name, places):
    """The line of the user's that a place in a program's text means, ``"model.py:12"``, or ""."""
    for _ in range(20):
        what = places.get(name, "")
        if found := LINE.search(what):
            return f"{found[1]}:{found[2]}"
        reference = REFERENCE.search(what)
        if reference is None:
            return ""
        name = reference[0]
    return ""


def difference(mine, theirs, rank, other):
    """The first operation in which two programs differ, as a line of a message; "" where none does."""
    here, there = operations(mine), operations(theirs)
    for i in range(max(len(here[0]), len(there[0]))):
        shown = [each[0][i].strip() if i < len(each[0]) else "nothing more" for each in (here, there)]
        if shown[0] == shown[1]:
            continue
        said = []
        for who, text, (_, at, places) in zip((rank, other), shown, (here, there), strict=True):
            line = where(at[i], places) if i < len(at) and at[i] else ""
            said.append(f"process {who} has{f' ({line})' if line else ''}: {text[:WIDTH]}")
        return f"  they differ first in line {i + 1} of their texts:\n    " + "\n    ".join(said)
    return ""


__all__ = ["difference", "packed", "unpacked"]
