"""Cotangents of slices of one array: added up as they lie, joined where they are side by side."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.bodies import transpose_program
from rabbet.extend.passes import evaluate, stage

pytestmark = [pytest.mark.exhaustive, pytest.mark.optimized]

CASES = {  # the slices of six rows of two, whether they are joined
    "halves": ([(0, 3), (3, 6)], True),
    "out of order": ([(4, 6), (0, 1), (1, 4)], True),
    "with gaps": ([(1, 2), (4, 5)], True),
    "one twice": ([(0, 3), (3, 6), (0, 3)], True),
    "all the same": ([(1, 3), (1, 3)], False),
    "overlapping": ([(0, 4), (2, 6)], False),
    "the whole beside a part": ([(0, 6), (2, 6)], False),
    "an empty one": ([(0, 0), (0, 6)], False),
    "one": ([(2, 4)], False),
}


def pulled(fn, shape, outputs):
    """The names of the primitives that transposing ``fn`` takes, and the cotangent of its operand."""
    program = stage(fn, [rb.typeof(np.zeros(shape, np.float32))]).jaxpr
    given = [np.asarray(ct, np.float32) for ct in outputs]

    def back(*cts):
        return transpose_program(program, (True,), [], (True,) * len(cts), cts)

    backwards = stage(back, [rb.typeof(ct) for ct in given]).jaxpr
    return {eqn.op.primitive.name for eqn in backwards.equations}, np.asarray(evaluate(backwards, given)[0])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("axis", [0, 1])
def test_the_cotangent_is_the_sum_over_slices(case, axis):
    cuts, together = CASES[case]
    random = np.random.default_rng(0)
    shape = (6, 2) if axis == 0 else (2, 6)
    cts = [random.integers(-9, 9, (hi - lo, 2) if axis == 0 else (2, hi - lo)) for lo, hi in cuts]
    wanted = np.zeros(shape)
    for (lo, hi), ct in zip(cuts, cts, strict=True):
        np.moveaxis(wanted, axis, 0)[lo:hi] += np.moveaxis(ct, axis, 0)
    names, found = pulled(lambda x: [lax.slice_in_dim(x, lo, hi, axis=axis) for lo, hi in cuts], shape, cts)
    np.testing.assert_array_equal(found, wanted)
    assert ("pad" not in names) is together
    assert ("concatenate" in names) is together


def test_other_uses_and_steps_are_added():
    def fn(x):
        return [x[:2], x[2:], x[::2], 3.0 * x]

    cts = [np.ones(2), np.full(2, 2.0), np.array([10.0, 20.0]), np.ones(4)]
    _, found = pulled(fn, (4,), cts)
    np.testing.assert_array_equal(found, [1 + 10 + 3, 1 + 3, 2 + 20 + 3, 2 + 3])


def test_pieces_along_different_axes_are_padded():
    names, found = pulled(lambda x: [x[:1], x[:, :1]], (2, 2), [np.ones((1, 2)), np.ones((2, 1))])
    np.testing.assert_array_equal(found, [[2, 1], [1, 0]])
    assert "concatenate" not in names


def test_pieces_of_what_is_computed_go_further_back():
    def fn(x):
        y = 2.0 * x
        return [5.0 * y[:2], y[2:]]

    names, found = pulled(fn, (5,), [np.ones(2), np.ones(3)])
    np.testing.assert_array_equal(found, [10, 10, 2, 2, 2])
    assert "pad" not in names
