"""The examples in docstrings: they are run, and no public function comes without one that had none before.

Numbers are compared as numbers, since the last digits differ from one compiler to the next. The names `rb`,
`rnp`, `np`, `lax`, `nn`, `random` and `tree` are there, and the other names of the example's own module.
"""

import doctest
import pathlib
import re
import typing

import numpy as np
import public_names
import pytest
import rabbet as rb
import rabbet.numpy as rnp

WITHOUT = pathlib.Path(__file__).with_name("without_example.txt")
# These modules' own tests run their examples, or, of the doors, demand more.
ELSEWHERE = ("rabbet.scipy.special", "rabbet.scipy.stats", "rabbet.torch", "rabbet.onnx", "rabbet.extend")
NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*(?:e[-+]?\d+)?)(?![\w])")
NAMES = [name for name in public_names.all_names() if name.is_callable]
SCOPE = {"rb": rb, "rnp": rnp, "np": np, "lax": rb.lax, "nn": rb.nn, "random": rb.random, "tree": rb.tree}


class Numbers(doctest.OutputChecker):
    """Output is right if the text between the numbers is, and the numbers are close."""

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        texts = [re.sub(r"\s+", "", NUMBER.sub("#", text)) for text in (want, got)]
        numbers = [[float(n) for n in NUMBER.findall(text)] for text in (want, got)]
        return texts[0] == texts[1] and np.allclose(*numbers, rtol=1e-4, atol=1e-5)


def families():
    """The names whose examples are run here, by module, each object once."""
    found, seen = {}, set()
    for name in NAMES:
        if not name.module.startswith(ELSEWHERE) and ">>>" in name.doc and id(name.thing) not in seen:
            seen.add(id(name.thing))
            found.setdefault(name.module, []).append(name)
    return found


FAMILIES = families()


@pytest.mark.parametrize("module", FAMILIES)
def test_examples(module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what an example writes does not land beside the sources
    wrong = []
    for name in FAMILIES[module]:
        own = vars(public_names.modules()[module])
        scope = {**{k: v for k, v in own.items() if not k.startswith("_")}, **SCOPE, "__name__": "__main__"}
        scope[name.name] = name.thing
        example = doctest.DocTestParser().get_doctest(name.doc, scope, name.full, None, None)
        report = []
        runner = doctest.DocTestRunner(checker=Numbers(), verbose=False, optionflags=doctest.ELLIPSIS)
        if runner.run(example, out=report.append).failed:
            wrong.append("".join(report))
    assert wrong == [], "\n".join(wrong)


def test_numbers_are_compared_as_numbers():
    check = Numbers().check_output
    assert check("Array([1. , 0.5], dtype=float32)\n", "Array([1.0000001, 0.5], dtype=float32)\n", 0)
    assert not check("Array([1. , 0.5], dtype=float32)\n", "Array([1.1, 0.5], dtype=float32)\n", 0)
    assert not check("Array([1.], dtype=float32)\n", "Array([1.], dtype=float64)\n", 0)
    assert not check("[1, 2]\n", "[1, 2, 3]\n", 0)


def without_example():
    """The public functions and classes without an example, as they are now."""
    lacking = (n for n in NAMES if not n.module.startswith("rabbet.extend") and n.thing is not typing.Any)
    return sorted(name.full for name in lacking if ">>>" not in name.doc)


def test_every_new_function_has_an_example():
    """`without_example.txt` would list those that have none: it is empty, and stays so."""
    allowed = set(WITHOUT.read_text().split())
    assert [name for name in without_example() if name not in allowed] == []


def test_every_public_name_says_what_it_is():
    silent = [name.full for name in NAMES if not name.doc and name.thing.__module__.startswith("rabbet")]
    assert silent == []
