"""Barriers change nothing but what the compiler may do."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.extend.passes import stage
from rabbet.extend.transform import typeof
from rabbet.lowering.module import lower_program
from rabbet.testing.rows.barriers import ROWS
from rabbet.testing.suite import law_tests

pytestmark = [pytest.mark.exhaustive, pytest.mark.optimized]

test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)


def text_of(fn, platform, *args):
    return lower_program(stage(fn, [typeof(x) for x in args]).jaxpr, platform).key_text


def test_a_tree_goes_through_one_barrier():
    tree = {"a": np.float32([1, 2]), "b": (np.int32(3), None)}
    out = lax.optimization_barrier(tree)
    assert out["a"].tolist() == [1, 2] and int(out["b"][0]) == 3 and out["b"][1] is None
    text = text_of(lambda x, y: lax.optimization_barrier([x, y]), "tpu", np.float32(1), np.float32([2]))
    assert text.count("stablehlo.optimization_barrier") == 1
    assert lax.optimization_barrier(()) == ()


def test_what_reverse_mode_places_is_for_the_cpu():
    from rabbet.primitives.barrier import keep_apart

    assert "optimization_barrier" in text_of(lambda x: [keep_apart(x)], "cpu", np.float32([2]))
    assert "optimization_barrier" not in text_of(lambda x: [keep_apart(x)], "tpu", np.float32([2]))
