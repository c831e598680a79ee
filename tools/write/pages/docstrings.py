"""Docstrings as Markdown: sections, arguments, examples, and links between public names."""

import re
from collections.abc import Callable, Iterable

SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Examples?|Attributes|Notes?|Source|Repairs):$")
LISTS = {"Args", "Raises", "Attributes"}
ENTRY = re.compile(r"^((?:\*{0,2}[\w.`\[\]]+)(?:, \*{0,2}[\w.`\[\]]+)*): (.*)$")
CODE = re.compile(r"``(.+?)``|`([^`]+)`", re.DOTALL)
Link = Callable[[str], str | None]


def no_link(name: str) -> str | None:
    """Names are not linked."""
    return None


def inline(text: str, link: Link = no_link) -> str:
    """One paragraph: ``code`` in single backticks, with a link where it names something; the rest escaped."""
    parts, end = [], 0
    for match in CODE.finditer(text):
        parts.append(escaped(text[end : match.start()]))
        code = " ".join((match[1] or match[2]).split())
        target = link(code)
        shown = f"`` {code} ``" if "`" in code else f"`{code}`"
        parts.append(shown if target is None else f"[{shown}]({target})")
        end = match.end()
    return "".join([*parts, escaped(text[end:])])


def escaped(text: str) -> str:
    """Text in which Markdown and HTML see nothing special."""
    return re.sub(r"([\\*_<>\[\]|])", r"\\\1", text).replace("\\>", "&gt;").replace("\\<", "&lt;")


def dedented(lines: list[str]) -> list[str]:
    """The lines of a section without their common indentation."""
    margin = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    return [line[margin:] for line in lines]


def sections(doc: str) -> list[tuple[str, list[str]]]:
    """``("", the text before the first section)``, then ``("Args", its lines)`` and so on."""
    found: list[tuple[str, list[str]]] = [("", [])]
    inside = False
    for line in doc.splitlines():
        if match := SECTION.match(line):
            found.append((match[1], []))
            inside = True
        elif inside and line.strip() and not line.startswith(" "):
            found.append(("", [line]))  # text after a section, at its margin
            inside = False
        else:
            found[-1][1].append(line)
    return [(title, dedented(lines)) for title, lines in found]


def blocks(lines: Iterable[str]) -> Iterable[list[str]]:
    """Paragraphs: what stands between blank lines. An example begins a block of its own."""
    block: list[str] = []
    for line in lines:
        begins = line.startswith(">>>") and block and not block[0].startswith(">>>")
        if (not line.strip() or begins) and block:
            yield block
            block = []
        if line.strip():
            block.append(line)
    if block:
        yield block


def prose(lines: Iterable[str], link: Link) -> Iterable[str]:
    """Paragraphs, bullet lists, indented code and examples."""
    for block in blocks(lines):
        if block[0].startswith(">>>"):
            yield from ("```pycon", *block, "```", "")
        elif all(line.startswith("    ") for line in block):
            yield from ("```text", *dedented(block), "```", "")
        elif block[0].startswith("- ") or any(line.startswith("- ") for line in block):
            yield from bullets(block, link)
        else:
            text = "\n".join(line.strip() for line in block)
            yield from (inline(text.removesuffix(":") if text.endswith("::") else text, link), "")


def bullets(block: list[str], link: Link) -> Iterable[str]:
    """A list, perhaps after a line that introduces it."""
    items: list[list[str]] = [[]]
    for line in block:
        if line.startswith("- "):
            items.append([])
        items[-1].append(line.removeprefix("- ").strip())
    if items[0]:
        yield from (inline(" ".join(items[0]), link), "")
    for item in items[1:]:
        yield "- " + inline(" ".join(item), link)
    yield ""


def entries(lines: Iterable[str], link: Link) -> Iterable[str]:
    """``name: text`` with the text's further lines indented: a list of names and what they mean."""
    items: list[tuple[str, list[str]]] = []
    for line in lines:
        if match := ENTRY.match(line):
            items.append((match[1], [match[2]]))
        elif items:
            items[-1][1].append(line.strip())
        elif line.strip():
            items.append(("", [line.strip()]))
    for names, text in items:
        said = inline(" ".join(part for part in text if part), link)
        shown = ", ".join(f"`{name.strip('`')}`" for name in names.split(", ")) if names else ""
        yield f"- {shown}: {said}" if shown else f"- {said}"
    yield ""


def markdown(doc: str, link: Link = no_link) -> str:
    """A docstring as Markdown. ``link`` gives the address of what a piece of code names, or None."""
    lines: list[str] = []
    for title, text in sections(doc):
        if title:
            lines += [f"**{'Example' if title == 'Examples' else title}**", ""]
        lines += entries(text, link) if title in LISTS else prose(text, link)
    return "\n".join(lines).strip() + "\n"


def summary(doc: str, link: Link = no_link) -> str:
    """The first sentence, for a table."""
    paragraph = " ".join(doc.strip().partition("\n\n")[0].partition("\n>>>")[0].split())
    sentence = re.split(r"(?<=\.) (?=[A-Z`])", paragraph)[0]
    return inline(re.sub(r"[:;]+$", ".", sentence), link)
