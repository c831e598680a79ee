"""Arrays of different lengths in one stack."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import ops

ROWS = [np.arange(2.0 * n, dtype="float32").reshape(n, 2) for n in (3, 1, 0)]


@pytest.mark.parametrize("length", [None, 3, 5, (2, 8, 4)])
def test_there_and_back(length):
    stack, mask = ops.pad_ragged(ROWS, length, fill_value=-1)
    size = {None: 3, 3: 3, 5: 5}.get(length, 4)
    assert stack.shape == (3, size, 2)
    assert mask.sum(1).tolist() == [3, 1, 0]
    assert (np.asarray(stack)[~np.asarray(mask)] == -1).all()
    for got, row in zip(ops.unpad_ragged(stack, mask), ROWS, strict=True):
        np.testing.assert_array_equal(got, row)


def test_a_common_dtype_and_numbers_that_stay_what_they_are():
    stack, _ = ops.pad_ragged([np.array([1], "int8"), np.array([0.5, 1.5], "float32")])
    assert stack.dtype == "float32"
    stack, _ = ops.pad_ragged([np.array([True]), np.array([True, False])])
    assert stack.dtype == bool


@pytest.mark.needs("grad", "jit", "vmap")
def test_within_functions_and_their_derivatives():
    def total(rows):
        stack, mask = ops.pad_ragged(rows, 4)
        return rb.vmap(lambda x, m: rnp.sum(x**2, where=m[:, None]))(stack, mask).sum()

    for got, row in zip(rb.jit(rb.grad(total))(ROWS), ROWS, strict=True):
        np.testing.assert_allclose(got, 2 * row)

    def last(stack):
        return sum(x.sum() * i for i, x in enumerate(ops.unpad_ragged(stack, mask)))

    stack, mask = ops.pad_ragged(ROWS, 4)
    np.testing.assert_allclose(rb.grad(last)(stack)[..., 0], np.asarray(mask) * np.array([[0], [1], [2]]))


@pytest.mark.forbidden("disable_jit")
@pytest.mark.needs("jit")
def test_messages():
    for error, words, call in (
        (TypeError, "takes a list of arrays", lambda: ops.pad_ragged(np.ones((2, 3)))),
        (ValueError, "at least one array", lambda: ops.pad_ragged([])),
        (TypeError, "number 1 is float", lambda: ops.pad_ragged([np.ones(2), 1.0])),
        (ValueError, r"number 0 has the shape \(2,\) and number 1 \(2, 3\)",
         lambda: ops.pad_ragged([np.ones(2), np.ones((2, 3))])),
        (ValueError, "length 2 is too small for an array of length 3",
         lambda: ops.pad_ragged([np.ones(3)], 2)),
        (ValueError, "a mask of bool", lambda: ops.unpad_ragged(rnp.ones((2, 3)), np.ones((2, 3)))),
        (TypeError, "the mask, which is traced",
         lambda: rb.jit(ops.unpad_ragged)(rnp.ones((2, 3)), rnp.ones((2, 3), bool))),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            call()
