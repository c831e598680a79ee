"""What notebooks show of arrays."""

import html.parser

import numpy as np
import pytest
from rabbet.testing.draws import device_array


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


def test_all_values_of_a_small_array():
    x = np.array([[1.5, -2.0, 3.25], [0.0, np.inf, np.nan]], np.float32)
    found = cells(device_array(x))
    assert found.texts[0].startswith("float32[2, 3] on ")
    np.testing.assert_array_equal(np.array(found.rows, float), x)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "complex64"])
def test_values_of_each_kind(dtype):
    x = np.array([0, 1, 1, 0]).astype(dtype)
    (row,) = cells(device_array(x)).rows
    read = [{"True": 1, "False": 0}.get(text.strip(), text.strip()) for text in row]
    np.testing.assert_array_equal(np.array([complex(t) for t in read]), x)


def test_the_ends_of_a_large_array():
    x = np.arange(1000 * 40).reshape(1000, 40)
    rows = cells(device_array(x)).rows
    assert len(rows) == 11 and all(len(row) == 13 for row in rows)
    assert [row[0].strip() for row in rows[:2]] == ["0", "40"] and rows[-1][-1].strip() == "39999"
    assert set(rows[5]) == {"\N{HORIZONTAL ELLIPSIS}"} and rows[0][6] == "\N{HORIZONTAL ELLIPSIS}"


def test_more_than_two_dimensions():
    found = cells(device_array(np.arange(60).reshape(5, 1, 3, 4)))
    assert len(found.rows) == 9 and found.rows[8][3].strip() == "35"
    assert "[1, 0]" in found.texts and found.texts[-1] == "and 2 more of these"


def test_arrays_without_numbers():
    empty = cells(device_array(np.zeros((0, 3), np.float32)))
    assert empty.texts == ["float32[0, 3] on cpu:0", "no elements"]
    gone = device_array(np.ones(3, np.float32))
    gone.delete()
    assert cells(gone).texts[-1] == "deleted"
