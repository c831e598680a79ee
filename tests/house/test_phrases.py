"""Words that a reader must read twice, in documents and in messages: each with what to write instead."""

import ast
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = sorted(ROOT.glob("docs/**/*.md"))
DOCUMENTS += [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "ARCHITECTURE.md")]
CODE = [path for top in ("core", "plugins/*/*", "pjrt_*") for path in sorted(ROOT.glob(f"{top}/src/**/*.py"))]
# What stands for it is a suggestion; a sentence may want another.
INSTEAD = {
    r"\bof whom\b": "name who: 'a process that ...'",
    r"\bhand(s|ed|ing)? out\b": "return, give",
    r"\bfor ever\b": "forever",
    r"\bshall\b": "should, must, will",
    r"\bas good as\b": "equal to, almost",
    r"\bwhat (is|was) whose\b": "say whose",
    r"\bput nowhere\b": "not placed, uncommitted",
    r"\bway back\b": "backward pass",
    r"\bway forward\b": "forward pass",
    r"\bthe field('s)?\b(?! of)": "JAX, or the usual words",
    r"\bgo(es)? along with\b": "follow",
    r"\bin vain\b": "without effect",
    r"\bof one's own accord\b": "by itself",
    r"\b(thereby|wherein|whereof|therein|hitherto|nought)\b": "a plainer word",
}  # fmt: skip
# For documents alone: in a comment beside code it may be the shortest word.
IN_DOCUMENTS = {
    r"\b[Ww]hoever\b": "anyone who, the caller",
    r"\bdoes all the same\b": "still does",
    r"\b[Nn]obody (knows|tells?|told|reads|asks|asked|promises|placed|has \w+ed)\b": "is not known, ...",
    r"\btells? (how|what|whether|who|which|that)\b": "says, shows, reports",
    r"\b(is|are|was|were) told\b": "gets, is given, knows",
    r"\bof one's own\b": "your own, a separate",
    r"\blies? otherwise\b": "has another sharding, another layout",
    r"\b(is|are) taken apart\b": "is split, cut, flattened",
    r"\bjudged by\b": "compared with",
}  # fmt: skip


def found(text, phrases):
    """``(line, phrase, instead)`` for each phrase in a text; what stands in code is left alone."""
    for number, line in enumerate(text.splitlines(), 1):
        bare = re.sub(r"`[^`]*`", "", line)
        for phrase, instead in phrases.items():
            if re.search(phrase, bare):
                yield number, phrase, instead


def said(path):
    """The texts of a file of code: docstrings and other constants, with their lines."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def test_documents_are_plain():
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {phrase}: write {instead}"
        for path in DOCUMENTS
        for line, phrase, instead in found(path.read_text(), INSTEAD | IN_DOCUMENTS)
        if path.name != "changes.md"
    ]
    assert not wrong, "\n".join(wrong)


def test_messages_and_docstrings_are_plain():
    wrong = [
        f"{path.relative_to(ROOT)}:{line + n - 1}: {phrase}: write {instead}"
        for path in CODE
        for line, text in said(path)
        for n, phrase, instead in found(text, INSTEAD)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("text", "count"),
    [("those of whom nobody spoke", 1), ("it waits for ever", 1), ("`for ever`", 0), ("it waits forever", 0)],
)
def test_the_list_finds_what_it_names(text, count):
    assert len(list(found(text, INSTEAD))) == count
