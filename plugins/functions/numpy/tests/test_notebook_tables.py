"""What notebooks show of arrays."""

import base64
import html.parser
import struct
import zlib

import numpy as np
import pytest
from rabbet.numpy.support import notebook_tables, value_pictures
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


def test_numbers_have_few_digits():
    (row,) = cells(device_array(np.array([1 / 3, 200 / 3]))).rows
    assert [text.strip() for text in row] == ["0.33333", "66.66667"]


def test_a_row_of_numbers_has_a_line():
    x = np.sin(np.linspace(0, 6, 500))
    x[[3, 250]] = np.nan
    shown = device_array(x)._repr_html_()
    assert "<svg" in shown and 'aria-label="167 of 500 values, from -0.9999 to 0.9999, 1 not' in shown
    assert "<svg" not in device_array(np.arange(5.0))._repr_html_()


def test_the_line_goes_through_the_values_and_breaks_where_one_is_not_finite():
    path = value_pictures.picture(np.array([0.0, 4, 2, np.nan, *[0.0] * 13])).split('d="')[1].split('"')[0]
    first, second = path[1:].split("M")
    heights = [float(point.split(" ")[1]) for point in first.split("L")]
    assert heights == [45.0, 3.0, 24.0] and second.count("L") == 12


def pixels(shown):
    """The colours of the picture, read from its PNG."""
    data = base64.b64decode(shown.split("base64,")[1].split('"')[0])
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    columns, rows = struct.unpack(">II", data[16:24])
    at = data.index(b"IDAT")
    length = int.from_bytes(data[at - 4 : at], "big")
    lines = np.frombuffer(zlib.decompress(data[at + 4 : at + 4 + length]), np.uint8)
    return lines.reshape(rows, 1 + 3 * columns)[:, 1:].reshape(rows, columns, 3)


def test_a_table_of_numbers_has_a_map():
    x = np.zeros((4, 6))
    x[1, 2], x[2, 0] = 1, np.inf
    found = pixels(device_array(x)._repr_html_())
    assert found.shape == (4, 6, 3)
    assert found[1, 2].tolist() == value_pictures.LIGHT.tolist()
    assert found[2, 0].tolist() == value_pictures.APART.tolist()
    assert (found == value_pictures.DARK).all(-1).sum() == 22


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float16", "complex64", "bfloat16", "int4"])
def test_pictures_of_each_kind(dtype):
    if dtype in ("bfloat16", "int4"):
        ml_dtypes = pytest.importorskip("ml_dtypes")
        dtype = getattr(ml_dtypes, dtype)
    x = (np.arange(40).reshape(5, 8) % 2).astype(dtype)
    found = pixels(value_pictures.picture(x))
    assert (found[0, 0] == value_pictures.DARK).all() and (found[0, 1] == value_pictures.LIGHT).all()


@pytest.mark.parametrize("fill", [0.0, np.nan, np.inf, 3.4e38])
def test_pictures_of_equal_values(fill):
    assert "svg" in value_pictures.picture(np.full(20, fill, np.float32))
    assert "base64" in value_pictures.picture(np.full((20, 20), fill, np.float32))


def test_the_range_of_the_largest_floats():
    x = np.tile(np.array([-1.7e308, 1.7e308]), 10)
    assert " 45.0" in value_pictures.picture(x) and " 3.0" in value_pictures.picture(x)


def test_large_arrays_elsewhere_are_not_read(monkeypatch):
    x = device_array(np.ones((40, 40), np.float32))
    monkeypatch.setattr(notebook_tables, "MOST_BYTES", 1000)
    assert "not read" not in x._repr_html_()  # the CPU's memory is read where it lies
    monkeypatch.setattr(notebook_tables, "is_far", lambda array: True)
    monkeypatch.setattr(np, "asarray", None)
    assert "not read for this" in x._repr_html_() and "<td" not in x._repr_html_()
