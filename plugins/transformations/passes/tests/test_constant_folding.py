"""Folding: what is computed ahead, what cancels, and what looks as if it did."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.extend.passes import Literal, check, stage
from rabbet.extend.primitive import ShapedArray
from rabbet_passes.constant_folding import fold

from .programs import names, results

F = ShapedArray((2, 3), "float32")
I = ShapedArray((3,), "int32")
S = ShapedArray((), "float32")


def folded(fn, *avals):
    return check(fold(stage(lambda *xs: [fn(*xs)], avals or (F,)).jaxpr))


def constant(value, dtype="float32"):
    """A number that a program computes."""
    return lax.convert_element_type(value, dtype)


def there_and_back(x):
    return lax.convert_element_type(lax.convert_element_type(x, "float64"), "float32")


@pytest.mark.parametrize(
    ("fn", "aval"),
    [
        (lambda x: x * 1.0, F),
        (lambda x: 1.0 * x, F),
        (lambda x: x / 1.0, F),
        (lambda x: x - 0.0, F),
        (lambda x: x + -0.0, F),
        (lambda x: lax.neg(lax.neg(x)), F),
        (lambda x: x + 0, I),
        (lambda x: 0 + x, I),
        (lambda x: x - 0, I),
        (lambda x: lax.transpose(lax.transpose(x, (1, 0)), (1, 0)), F),
        (lambda x: lax.reshape(lax.reshape(x, (6,)), (2, 3)), F),
        (lambda x: lax.reshape(lax.expand_dims(x, (0,)), (2, 3)), F),
        (lambda x: lax.broadcast_in_dim(x, (2, 3), (0, 1)), F),
        (lambda x: lax.stop_gradient(x), F),
        (there_and_back, F),
    ],
)
def test_what_changes_nothing_is_left_out(fn, aval):
    after = folded(fn, aval)
    assert after.outvars == after.invars


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize(
    ("fn", "aval"),
    [
        (lambda x: x + 0.0, F),  # -0.0 + 0.0 is 0.0
        (lambda x: x - -0.0, F),
        (lambda x: 0.0 - x, F),  # -0.0 for 0.0 would be 0.0
        (lambda x: x * 0.0, F),  # NaN
        (lambda x: 1.0 / x, F),
        (lambda x: lax.convert_element_type(lax.convert_element_type(x, "int32"), "float32"), F),
        (lambda x: lax.convert_element_type(lax.convert_element_type(x, "float32"), "int32"), I),
        (lambda x: lax.transpose(lax.transpose(x, (1, 0, 2)), (2, 0, 1)), ShapedArray((2, 3, 4), "float32")),
    ],
)
def test_what_only_looks_so_stays(fn, aval):
    after = folded(fn, aval)
    assert after.outvars != after.invars
    if aval is F:
        x = np.float32([[-0.0, 0.0, np.nan], [np.inf, 2.5, -1e-3]])
        before = stage(lambda x: [fn(x)], [aval]).jaxpr
        assert results(after, [x]) == results(before, [x])


def test_numbers_are_computed_and_their_results_too():
    after = folded(lambda x: x * lax.sqrt(constant(32.0) * 2.0 - 15.0))
    assert names(after)[-1] == "mul"
    number = after.equations[-1].inputs[1]
    assert type(number) is Literal and number.value == np.sqrt(np.float32(49))
    assert type(number.value) is np.float32


def test_types_are_kept():
    after = folded(lambda x: constant(3.0) / constant(2.0), S)
    (out,) = after.outvars
    assert out.value == 1.5 and out.aval == ShapedArray((), "float32")
    assert (
        folded(lambda x: x + lax.convert_element_type(2, "float32"), F).equations[-1].inputs[1].value == 2.0
    )


def test_what_processors_may_round_in_their_own_way_stays():
    tiny = folded(lambda x: x + constant(1e-30) * constant(1e-10))
    assert "mul" in names(tiny)
    lost = folded(lambda x: x + (constant(0.0) / constant(0.0)))
    assert "div" in names(lost)
    half = folded(
        lambda x: x * (constant(1.0, "float16") + constant(2.0, "float16")), ShapedArray((3,), "float16")
    )
    assert "add" in names(half)


def test_chains_become_one():
    after = folded(lambda x: lax.reshape(lax.reshape(lax.reshape(x, (6,)), (1, 6)), (3, 2)))
    assert after.equations[-1].inputs == after.invars
    turned = folded(
        lambda x: lax.transpose(lax.transpose(x, (1, 0, 2)), (2, 0, 1)), ShapedArray((2, 3, 4), "float32")
    )
    assert turned.equations[-1].inputs == turned.invars
    assert turned.equations[-1].op.params["permutation"] == (2, 1, 0)


def test_a_program_with_nothing_to_fold_is_returned_as_it_is():
    jaxpr = stage(lambda x: [lax.sin(x) * 0.5], [F]).jaxpr
    assert fold(jaxpr) is jaxpr
