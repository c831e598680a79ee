"""Positions in arrays of more than 2**31 elements; types alone, so that nothing is computed."""

import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

pytestmark = [pytest.mark.narrow, pytest.mark.needs("jit")]

N = 2**31 + 8
LARGE = rb.ShapeDtypeStruct((N,), "int8")

WIDE = {
    "argmax": rnp.argmax,
    "argmin": lambda x: rnp.argmin(lax.expand_dims(x, (0,)), axis=1),
    "nanargmax": lambda x: rnp.nanargmax(x.astype("float16")),
    "argsort": rnp.argsort,
    "argpartition": lambda x: rnp.argpartition(x, 2),
    "lexsort": lambda x: rnp.lexsort((x,)),
    "nonzero": lambda x: rnp.nonzero(x, size=3)[0],
    "flatnonzero": lambda x: rnp.flatnonzero(x, size=3),
    "argwhere": lambda x: rnp.argwhere(x, size=3),
    "searchsorted": lambda x: rnp.searchsorted(x, rnp.int8(3)),
    "count_nonzero": rnp.count_nonzero,
}


@pytest.mark.parametrize("name", WIDE)
def test_positions_have_64_bits_where_there_are_so_many(name):
    assert rb.eval_shape(WIDE[name], LARGE).dtype == "int64"
    assert rb.eval_shape(WIDE[name], rb.ShapeDtypeStruct((9,), "int8")).dtype == "int32"


def test_elements_are_read_there():
    assert rb.eval_shape(lambda x: (x[-1], x[N - 1], x[N - 3 :]), LARGE)[2].shape == (3,)


PLACE = rb.ShapeDtypeStruct((), "int32")
PLACES = rb.ShapeDtypeStruct((2,), "int32")
MOVED = {
    "insert": (lambda x, at: rnp.insert(x, at, 1), PLACE, N + 1),
    "insert several": (lambda x, at: rnp.insert(x, at, 1), PLACES, N + 2),
    "delete": (lambda x, at: rnp.delete(x, at, assume_unique_indices=True), PLACES, N - 2),
    "roll": (lambda x, step: rnp.roll(x, step), PLACE, N),
    "repeat": (lambda x, n: rnp.repeat(x, n, total_repeat_length=N + 1), PLACE, N + 1),
}


@pytest.mark.parametrize("name", MOVED)
def test_elements_are_moved_there(name):
    """By places that are computed."""
    call, places, size = MOVED[name]
    assert rb.eval_shape(call, LARGE, places).shape == (size,)


REFUSED = [
    lambda x: lax.argmax(x, 0, "int32"),
    lambda x: rnp.argsort(x, dtype="int32"),
    lambda x: lax.iota("int32", N),
    lambda x: rnp.arange(N),
    lambda x: rnp.unique(x, size=3, return_index=True),
    lambda x: lax.top_k(x, 2),
]


@pytest.mark.parametrize("call", REFUSED)
def test_32_bits_that_do_not_hold_them_are_an_error(call):
    with pytest.raises(ValueError, match=r"cannot hold .*take a wider|positions are int32"):
        rb.eval_shape(call, LARGE)
