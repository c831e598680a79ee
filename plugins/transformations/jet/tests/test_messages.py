"""What is said of series that do not fit."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.experimental.jet import jet


def product(x, y):
    return lax.mul(x, y)


ONES = np.ones(3, "f4")


@pytest.mark.parametrize(
    ("primals", "series", "error", "text"),
    [
        (
            1.0,
            ([1.0],),
            TypeError,
            r"jet of product.*: primals must be a tuple or list .* got float \(1\.0\)",
        ),
        ((1.0, 1.0), 1.0, TypeError, "jet of product.*: series must be a tuple or list"),
        ((1.0, 1.0), ([1.0],), ValueError, "one entry for each argument, got 2 primals and 1 series"),
        (
            (1.0, 1.0),
            ([1.0, 0.0], [1.0]),
            ValueError,
            "argument 'y': all series must have one length, .* has 1 terms, that of argument 'x' has 2",
        ),
        (
            (1.0, 1.0),
            (1.0, [1.0]),
            TypeError,
            "argument 'x': its series must be a list or tuple of terms, got",
        ),
        (
            (ONES, 1.0),
            ([ONES[:2]], [1.0]),
            ValueError,
            r"argument 'x': term 1 must have the type f32\[3\], got f32\[2\]",
        ),
        ((ONES, 1.0), ([ONES, np.ones(3, "i4")], [1.0] * 2), TypeError, r"term 2 .* f32\[3\], got i32\[3\]"),
        ((ONES, 1.0), (["a"], [1.0]), TypeError, r"argument 'x': term 1 is not an array: str \('a'\)"),
        (("a", 1.0), ([1.0], [1.0]), TypeError, r"argument 'x' is not an array: str \('a'\)"),
        (
            (1, 1.0),
            ([1.0], [1.0]),
            TypeError,
            r"argument 'x': term 1 .* float0\[\], .*; an integer does not move",
        ),
        (
            ({"a": 1.0}, 1.0),
            ({"b": [1.0]}, [1.0]),
            TypeError,
            "series must have the structure of primals with a list of terms in the place of each array",
        ),
    ],
)
def test_what_does_not_fit_is_named(primals, series, error, text):
    with pytest.raises(error, match=text):
        jet(product, primals, series)


def test_a_result_that_is_no_array_is_named():
    with pytest.raises(TypeError, match=r"must return arrays, it returned a leaf at \['a'\] of type str"):
        jet(lambda x: {"a": "text"}, (1.0,), ([1.0],))


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match=r"jet takes a function, got int \(3\)"):
        jet(3, (1.0,), ([1.0],))


def test_a_value_that_leaks_is_said_to_be_of_a_jet():
    kept = []
    jet(lambda x: kept.append(x) or x, (1.0,), ([1.0],))
    with pytest.raises(Exception, match="outside the transformation that made it: jet of"):
        lax.add(kept[0], 1.0)
