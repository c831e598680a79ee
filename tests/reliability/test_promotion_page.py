"""The table of docs/promotion.md, computed."""

import re
from pathlib import Path

import pytest
from rabbet import dtypes

pytestmark = [pytest.mark.narrow, pytest.mark.needs("bfloat16")]

PAGE = (Path(__file__).parents[2] / "docs" / "promotion.md").read_text()
LONG = {"u": "uint", "i": "int", "f": "float", "bf": "bfloat", "c": "complex"}


def operand(short):
    if "`" in short:
        return complex(short.strip("`")) if "j" in short else eval(short.strip("`"))
    return dtypes.canonicalize(re.sub("^(bf|[uifc])(?=[0-9])", lambda m: LONG[m[0]], short))


def rows():
    head, _, *body = [
        [cell.strip(" *") if at < 2 else cell.strip() for at, cell in enumerate(line.split("|")[1:-1])]
        for line in PAGE.splitlines() if line.startswith(("|  |", "|---", "| **"))
    ][:17]  # fmt: skip
    return head[1:], [(row[0], row[1:]) for row in body]


def test_every_cell_is_what_operands_meet_in():
    columns, body = rows()
    assert len(columns) == 18 and len(body) == 15
    for name, cells in body:
        for column, cell in zip(columns, cells, strict=True):
            dtype, weak = dtypes.promote(operand(name), operand(column))
            assert (dtype, weak) == (operand(cell.rstrip("*")), cell.endswith("*")), (name, column)
