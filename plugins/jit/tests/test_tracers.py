"""Traced values as Python objects: what one may do with them besides arithmetic."""

import copy

import numpy as np
import pytest
import rabbet as rb

X = np.arange(6, dtype="f4").reshape(2, 3)


def test_traced_values_are_arrays():
    seen = []
    rb.jit(lambda x: seen.append((isinstance(x, rb.Array), isinstance(1.0, rb.Array))) or x)(1.0)
    assert seen == [(True, False)]
    assert isinstance(rb.device_put(1.0), rb.Array)
    assert not isinstance(X, rb.Array)


def test_traced_values_can_be_copied_and_shown():
    shown = []

    @rb.jit
    def f(x):
        shown.append(f"{x}")
        return copy.copy(x) + copy.deepcopy({"x": x})["x"]

    assert f(2.0) == 4
    assert "f32[]" in shown[0]
    with pytest.raises(rb.errors.ConcretizationTypeError, match=r"the format '.2f' needs the value"):
        rb.jit(lambda x: f"{x:.2f}" and x)(1.0)


def test_len_and_iteration():
    assert rb.jit(lambda x: len(x) * sum(row[0] for row in x))(X) == 2 * (0 + 3)
    with pytest.raises(TypeError, match="without dimensions"):
        rb.jit(lambda x: [y for y in x])(1.0)  # noqa: C416
