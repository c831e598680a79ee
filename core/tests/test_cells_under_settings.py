"""References under settings. ``check_tracer_leaks``: a trace lets go of what it knows of them, and a leak is
still found. ``disable_jit``: loops over them.
"""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

pytestmark = pytest.mark.needs("jit", "grad", "vmap", "ref", "numpy")


def summed(x):
    total = rb.new_ref(np.float32(0))

    def body(i, c):
        total[...] += x
        return c + total[...]

    c = lax.fori_loop(0, 3, body, 0.0)
    lax.cond(x > 0, lambda: total.__setitem__(..., total[...] * 2), lambda: None)
    return lax.scan(lambda c, a: (c + total[...] * a, a), c, np.ones(2, "float32"))[0]


WAYS = {
    "eager": summed,
    "jit": lambda x: rb.jit(summed)(x),
    "grad": lambda x: rb.grad(summed)(x),
    "grad of jit": lambda x: rb.grad(rb.jit(summed))(x),
    "vmap": lambda x: rb.vmap(summed)(np.full(2, x, "float32"))[1],
}


@pytest.mark.parametrize("way", WAYS)
def test_a_reference_in_loops_is_no_leak(way):
    expected = float(WAYS[way](2.0))
    with rb.config.override(check_tracer_leaks=True):
        assert float(WAYS[way](2.0)) == expected == (36.0 if "grad" not in way else 18.0)


def until(x):
    total = rb.new_ref(x)

    def body(c):
        total[...] += c
        return c + 1

    return lax.while_loop(lambda c: c < 3, body, x) + total[...]


@pytest.mark.parametrize("way", ["eager", "vmap", "vmap of jit", "jvp"])
def test_a_reference_in_a_loop_without_jit(way):
    """Of values that no Python loop can decide by, the loop is left to its primitive."""
    x = np.float32([0, 1])
    run = {
        "eager": lambda: [until(a) for a in x],
        "vmap": lambda: rb.vmap(until)(x),
        "vmap of jit": lambda: rb.vmap(rb.jit(until))(x),
        "jvp": lambda: rb.jvp(rb.vmap(until), (x,), (x,))[0],
    }[way]
    with rb.disable_jit():
        assert np.asarray(run()).tolist() == [6.0, 7.0]


def test_a_reference_that_is_mapped_is_no_leak():
    rows = rb.new_ref(np.zeros((3, 2), np.float32))

    def write(row, x):
        row[0] = x

    with rb.config.override(check_tracer_leaks=True):
        rb.vmap(write)(rows, np.arange(3, dtype="float32"))
    assert np.asarray(rows[...])[:, 0].tolist() == [0, 1, 2]


def test_what_a_loop_keeps_beside_a_reference_is_found():
    kept, total = [], rb.new_ref(np.float32(0))

    def body(i, c):
        kept.append(total[...])
        return c

    found = pytest.raises(rb.errors.UnexpectedTracerError, match="still held")
    with rb.config.override(check_tracer_leaks=True), found:
        lax.fori_loop(0, 3, body, 0.0)
