"""What notebooks show of programs."""

import html.parser
import re

import numpy as np
from rabbet import lax
from rabbet.extend.passes import program_lines, stage
from rabbet.extend.transform import typeof


class Cells(html.parser.HTMLParser):
    """The texts of the cells of the tables, by row, and how deep the elements stand at the end."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.open, self.texts = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)
        if self.open[-1] == "td":
            self.rows[-1][-1] += data


def cells(shown):
    found = Cells(shown._repr_html_())
    assert found.open == []
    return found


def test_a_program_beside_the_lines_of_its_author():
    def step(x):
        return lax.lt(x, 3.0)

    closed = stage(lambda x: [lax.while_loop(step, lambda c: lax.mul(c, 2.0), x)], [typeof(np.float32(1))])
    rows = cells(closed).rows
    assert "\n".join(row[0] for row in rows) == str(closed.jaxpr)
    (test,) = [row for row in rows if re.search(r"\blt\b", row[0])]
    assert test[1].endswith(f"test_html.py:{step.__code__.co_firstlineno + 1}")


def test_the_lines_of_a_program_are_its_text():
    closed = stage(lambda x: [lax.cond(lax.gt(x, 0.0), lax.sin, lax.cos, x)], [typeof(np.float32(1))])
    lines = program_lines(closed.jaxpr)
    assert "\n".join(line for line, _ in lines) == str(closed.jaxpr)
    here = [position for line, position in lines if "cond[" in line]
    assert here[0].file == __file__


def test_cells_of_notebooks_are_named():
    code = compile("def cell(x):\n    return lax.neg(x)\n", "/tmp/ipykernel_77/1234.py", "exec")
    names: dict = {"lax": lax}
    exec(code, names)
    shown = stage(lambda x: [names["cell"](x)], [typeof(np.float32(1))]).jaxpr._repr_html_()
    assert "a cell:2" in shown and "/tmp/" not in shown
