"""``operation_attributes``: where the attributes stand in a program's text, for every primitive of core."""

import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.backend import lower_program
from rabbet.extend.native import to_portable
from rabbet.extend.passes import consts_as_inputs, stage
from rabbet.extend.wrapping import operation_attributes
from rabbet.lowering.attributes import marked
from rabbet.testing.draws import device_array
from rabbet.testing.rows import core_families

ROWS = {row.name: row for family in core_families() for row in family}


def text_of(function, *args):
    closed = stage(function, [rb.typeof(x) for x in args], "f")
    return lower_program(consts_as_inputs(closed), "cpu").module.text


def operations(text):
    """The lines that are operations, without constants and what stands in the text of one operation."""
    lines = [line for line in text.splitlines() if " = " in line and line.startswith(("%", "}"))]
    return [line for line in lines if "stablehlo.constant" not in line and not line.endswith("({")]


@pytest.mark.parametrize("name", ROWS)
def test_operations_of_every_primitive_carry_them_and_can_be_read(name):
    row = ROWS[name]
    dtype = row.known_dtypes()[0]

    def f(*args):
        with operation_attributes({"stage": 'the "first"', "k-1": "{}"}):
            return row.function(dtype)(*args)

    text = text_of(f, *[device_array(a) for a in row.draw(dtype)])
    for line in operations(text):
        assert r'stage = "the \"first\""' in line and '"k-1" = "{}"' in line, line
    to_portable(text, "1.10.0")


def test_blocks_add_up_and_the_inner_one_wins():
    def f(x):
        with operation_attributes({"a": "1", "b": "1"}):
            with operation_attributes({"b": "2", "c": "3"}):
                y = lax.sin(x)
            y = lax.cos(y)
        return [lax.tanh(y)]

    sine, cosine, tangent = operations(text_of(f, 1.0))
    assert 'a = "1", b = "2", c = "3"' in sine
    assert 'a = "1", b = "1"}' in cosine
    assert "frontend_attributes" not in tangent


def test_a_loop_and_what_is_in_it():
    def body(i, x):
        with operation_attributes({"inner": "1"}):
            return lax.sin(x)

    def f(x):
        with operation_attributes({"outer": "1"}):
            return [lax.fori_loop(0, 3, body, x)]

    lines = text_of(f, 1.0).splitlines()
    (sine,) = [line for line in lines if "sine" in line]
    assert 'inner = "1"' in sine and 'outer = "1"' in sine
    (end,) = [line for line in lines if line.startswith("}) ")]
    assert 'outer = "1"' in end and "inner" not in end


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ('%1 = "x"(%0) <{k = 1 : i64}> : (i1) -> i1', '%1 = "x"(%0) <{k = 1 : i64}> {@} : (i1) -> i1'),
        ("%1 = x %0 {k = 1 : i64} : i1", "%1 = x %0 {@, k = 1 : i64} : i1"),
        ('%1 = x %0 {k = "}"} : i1', None),  # which brace belongs to which cannot be seen
        ("%1 = x %0 {k = 1 : i64}", None),  # no types: there is no place
    ],
)
def test_where_they_stand(line, wanted):
    written = 'mhlo.frontend_attributes = {a = "1"}'
    assert marked(line, {"a": "1"}) == (line if wanted is None else wanted.replace("@", written))
