"""Making a failing program smaller: lines and blocks are taken out as long as it fails alike."""

import re


def blocks(lines):
    """Ranges of lines that belong together, large ones first: a ``def`` with its body, or one line."""
    found = []
    for start, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        stop = start + 1
        while stop < len(lines) and (
            not lines[stop].strip() or len(lines[stop]) - len(lines[stop].lstrip()) > indent
        ):
            stop += 1
        found.append((start, stop))
        if line.lstrip().startswith("@") and stop < len(lines):
            found.append(
                (start, next(b for a, b in blocks(lines[stop:])[:1]) + stop if lines[stop:] else stop)
            )
    return found


def simpler(line):
    """The line with a part of it replaced by a smaller one."""
    head, equals, call = line.partition(" = ")
    if equals and "def " not in head:
        for argument in dict.fromkeys(re.findall(r"\b[vpx]\d+\b", call)):
            yield f"{head} = {argument}"
    if line.lstrip().startswith("return ") and "," in line:
        head, _, rest = line.partition("return ")
        parts = rest.split(", ")
        for i in range(len(parts)):
            yield f"{head}return {', '.join(parts[:i] + parts[i + 1 :])}"


def reduced(text, fails):
    """The smallest program found that still ``fails(text)``."""
    lines = text.splitlines()
    before = None
    while before != lines:
        before = list(lines)
        start = len(lines) - 1
        while start >= 0:
            for first, stop in sorted({b for b in blocks(lines) if b[0] == start}, key=lambda b: b[0] - b[1]):
                shorter = lines[:first] + lines[stop:]
                if fails("\n".join(shorter)):
                    lines = shorter
                    break
            else:
                for changed in simpler(lines[start]) if start < len(lines) else ():
                    if fails("\n".join([*lines[:start], changed, *lines[start + 1 :]])):
                        lines[start] = changed
                        break
            start = min(start, len(lines)) - 1
    return "\n".join(lines) + "\n"
