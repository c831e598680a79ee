"""Outlining: which stretches are found, what becomes an argument, and that functions grow with distinct
blocks, not with their number.
"""

import numpy as np
import pytest
from rabbet import config, lax
from rabbet.extend.backend import compile_program, lower_program
from rabbet.extend.functions import to_array
from rabbet.extend.passes import check, stage
from rabbet.extend.primitive import Primitive, ShapedArray, call_op
from rabbet_passes.outline import outline
from rabbet_passes.repeated_sequences import Repeat, repeats

from .programs import results

F = ShapedArray((8,), "float32")
ROUND = (lax.sin, lax.cos, lax.tanh, lax.exp, lax.neg, lax.abs)


def layer(x, w, number=0.5, extra=()):
    """A block of 14 operations."""
    for fn in (*ROUND, *extra, *ROUND):
        x = fn(x)
    return x * number + w


def staged(fn, count=2):
    return stage(lambda *xs: [fn(*xs)], [F] * count).jaxpr


def blocks(jaxpr):
    """(function, times it is called) in the order of the first calls."""
    found = {}
    for eqn in jaxpr.equations:
        if eqn.op.primitive.name == "outlined":
            found[eqn.op.params["jaxpr"]] = found.get(eqn.op.params["jaxpr"], 0) + 1
    return list(found.items())


def stacked(n, number=lambda i: 0.5):
    def fn(x, w):
        for i in range(n):
            x = layer(x, w, number(i))
        return x

    return staged(fn)


# ------------------------------------------------------------------------------------------- repetitions
def test_repetitions_in_lists():
    assert repeats(list("abcdefgh" * 4), 8) == [Repeat(0, 8, 4, 0)]
    assert repeats(list("xy" + "abcdefgh" * 3 + "abcz"), 8) == [Repeat(2, 8, 3, 3)]
    assert repeats(list("abcdefgh" * 2), 8, 3) == []
    assert repeats(list(range(100)), 8) == []
    two = repeats(list("abcdefgh" * 3 + "----" + "ijklmnopq" * 4), 8)
    assert two == [Repeat(28, 9, 4, 0), Repeat(0, 8, 3, 0)]


def test_nothing_equals_none():
    assert repeats([None] * 50, 8) == []


# ------------------------------------------------------------------------------------------------ blocks
@pytest.mark.parametrize("n", [3, 6, 12])
def test_the_number_of_functions_does_not_grow_with_the_layers(n):
    jaxpr = stacked(n)
    after = check(outline(jaxpr, None))
    ((body, times),) = blocks(after)
    assert times == n and len(body.equations) == 14
    assert lower_text(jaxpr).count("func.func") == 2
    assert lower_text(jaxpr).count('inlineable = "false"') == n


def lower_text(jaxpr):
    with config.override(enable_passes="outline"):
        return lower_program(jaxpr, "cpu").module.key_text


def test_numbers_that_differ_become_arguments():
    jaxpr = stacked(5, lambda i: 0.5 + i)
    ((body, times),) = blocks(outline(jaxpr, None))
    assert times == 5 and len(body.invars) == 3
    ((same, _),) = blocks(outline(stacked(5), None))
    assert len(same.invars) == 2
    args = [np.linspace(-1, 1, 8, dtype=np.float32), np.float32([0.1] * 8)]
    assert results(check(outline(jaxpr, None)), args) == results(jaxpr, args)


def test_blocks_within_blocks():
    def fn(x, w):
        for _ in range(3):
            for _ in range(4):
                x = layer(x, w)
            x = lax.expm1(lax.rev(x, (0,)))
        return x

    after = check(outline(staged(fn), None))
    ((body, times),) = blocks(after)
    ((inner, inner_times),) = blocks(body)
    assert (times, inner_times, len(inner.equations)) == (3, 4, 14)


def test_distinct_stretches_each_have_a_function():
    def fn(x, w):
        for _ in range(4):
            x = layer(x, w)
        for _ in range(3):
            x = layer(x, w, extra=(lax.floor, lax.ceil))
        return x

    after = check(outline(staged(fn), None))
    assert [times for _, times in blocks(after)] == [4, 3]


def test_what_a_block_computes_for_later_is_handed_out():
    def fn(x, w):
        kept = []
        for _ in range(4):
            y = layer(x, w)
            kept.append(y * x)
            x = layer(y, w, 2.0)
        return sum(kept, x)

    jaxpr = staged(fn)
    after = check(outline(jaxpr, None))
    ((body, _),) = blocks(after)
    assert len(body.outvars) == 2
    args = [np.linspace(-1, 1, 8, dtype=np.float32), np.float32([0.1] * 8)]
    np.testing.assert_array_equal(results(after, args), results(jaxpr, args))


def test_blocks_that_are_wired_differently_are_not_one():
    def fn(x, w):
        y = w
        for i in range(6):
            x, y = (layer(x, y), x) if i % 2 else (layer(y, x), y)
        return x

    jaxpr = staged(fn)
    args = [np.linspace(-1, 1, 8, dtype=np.float32), np.float32([0.1] * 8)]
    assert results(check(outline(jaxpr, None)), args) == results(jaxpr, args)


def test_calls_with_equal_bodies_are_equal():
    def fn(x, w):
        for _ in range(4):
            body = stage(lambda y: [lax.sin(y) * 2.0], [F]).jaxpr
            (x,) = call_op(body, "f")(layer(x, w))
        return x

    assert [times for _, times in blocks(outline(staged(fn), None))] == [4]


def test_effects_stay_where_they_are():
    noisy = Primitive("noisy_of_test_outline", lambda x: x, kinds=("effect",))

    def fn(x, w):
        for _ in range(4):
            x = noisy(layer(x, w))
        return x

    after = check(outline(staged(fn), None))
    assert sum(e.op.primitive is noisy for e in after.equations) == 4
    assert not blocks(after)


def test_a_program_without_repetitions_is_returned_as_it_is():
    jaxpr = stacked(2)
    assert outline(jaxpr, None) is jaxpr


def test_what_runs_is_the_same():
    jaxpr = stacked(4, lambda i: 0.25 * i)
    args = [to_array(np.linspace(-1, 1, 8, dtype=np.float32)), to_array(np.float32([0.1] * 8))]
    plain = compile_program(lower_program(jaxpr)).runner(False)(args)
    with config.override(enable_passes="outline"):
        apart = compile_program(lower_program(jaxpr)).runner(False)(args)
    np.testing.assert_array_equal(plain[0], apart[0])
