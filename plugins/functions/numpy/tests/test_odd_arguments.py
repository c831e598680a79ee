"""Odd but plausible arguments: results of the dtype and weak type that follow from the rules of promotion,
and classes of errors that callers may catch.
"""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

TRUTH = np.array([[1, 0, 1], [0, 0, 1], [0, 0, 0]], bool)


def traced(f, *args):
    return rb.eval_shape(f, *args)


WEAK = rb.ShapeDtypeStruct((4,), "float32", weak_type=True)


@pytest.mark.narrow
def test_a_step_is_no_whole_number():
    out, step = rnp.linspace(0, 1, 5, retstep=True, dtype=int)
    assert out.tolist() == [0, 0, 0, 0, 1] and out.dtype == np.int32
    assert float(step) == 0.25 and step.dtype == np.float32
    assert rnp.linspace(0, 1, 5, retstep=True, dtype="float16")[1].dtype == np.float16


def test_unsigned_numbers_count_down():
    for args in ((3, 0, -1), (10, 0, -3), (0, 3, -1)):
        np.testing.assert_array_equal(rnp.arange(*args, dtype="uint8"), np.arange(*args, dtype="uint8"))


@pytest.mark.parametrize("subscripts", ["ii", "ii->i", "ij->j", "ij->", "ij,jk->ik"])
def test_sums_of_booleans(subscripts):
    operands = [TRUTH] * (subscripts.count(",") + 1)
    out = rnp.einsum(subscripts, *operands)
    assert out.dtype == bool
    np.testing.assert_array_equal(out, np.einsum(subscripts, *operands))


@pytest.mark.needs("jit")
@pytest.mark.parametrize("at", [[1, 1, 3], [4, 0, 2], [-1, -4, 4], [3, 2, 1]])
def test_values_are_put_in_at_computed_places(at):
    vector, matrix, at = np.arange(4.0, dtype="f4"), np.arange(12.0, dtype="f4").reshape(3, 4), np.int32(at)
    new = np.float32([10, 20, 30])
    found = rb.jit(lambda at: (rnp.insert(vector, at, new), rnp.insert(matrix, at, 7.0, axis=1)))(at)
    np.testing.assert_array_equal(found[0], np.insert(vector, at, new))
    np.testing.assert_array_equal(found[1], np.insert(matrix, at, 7.0, axis=1))


@pytest.mark.needs("eval_shape")
def test_a_dtype_that_is_asked_for_is_no_weak_one():
    assert not traced(lambda x: rnp.full(3, x[0], dtype="float32"), WEAK).weak_type
    assert not traced(lambda x: lax.full((3,), x[0], "float32"), WEAK).weak_type
    assert traced(lambda x: rnp.full(3, x[0]), WEAK).weak_type


@pytest.mark.needs("eval_shape")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: rnp.pad(x, 1, mode="mean"),
        lambda x: rnp.pad(x, 1, mode="median"),
        lambda x: rnp.pad(x, 1, mode="reflect", reflect_type="odd"),
        lambda x: rnp.setdiff1d(x, np.float32([1]), size=2),
        lambda x: rnp.resize(x[:0], (2,)),
        lambda x: x.at[9].get(mode="fill"),
        lambda x: lax.dot(x, x, preferred_element_type="float32"),
    ],
)
def test_weak_types_stay(f):
    assert traced(f, WEAK).weak_type


def test_weights_take_part_in_the_dtype():
    x = np.arange(8, dtype=np.float16).reshape(2, 4) ** 2
    weights = np.float32([1, 2, 3, 4])
    found = rnp.cov(x, aweights=weights)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, np.cov(x, aweights=weights), rtol=1e-3)


def test_the_covariance_of_a_fit_of_complex_values():
    x = np.arange(6, dtype=np.float32)
    y = (x * (1 + 2j) + np.float32([0.1, -0.2, 0.3, 0, 0.1, -0.1])).astype("c8")
    coefficients, covariance = rnp.polyfit(x, y, 1, cov=True)
    wanted = np.polyfit(x, y, 1, cov=True)
    assert covariance.dtype == np.float32  # at real places
    np.testing.assert_allclose(coefficients, wanted[0], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(covariance, wanted[1].real, rtol=1e-3, atol=1e-5)


def test_numbers_are_ordered_trivially():
    assert int(rnp.lexsort((np.float32(3),))) == 0


@pytest.mark.narrow
def test_rounding_to_whole_numbers_gives_the_default_integers():
    for dtype in ("int8", "uint8", "float32"):
        assert round(rnp.asarray(np.array([1, 2], dtype))).dtype == np.int32
    assert round(rnp.asarray(np.array([1, 2], "int8")), 1).dtype == np.int8


@pytest.mark.needs("float8_e4m3fn")
def test_a_variance_of_few_bits_in_a_wider_dtype():
    few = rnp.asarray(np.float32([1, 2, 4])).astype("float8_e4m3fn")
    assert rnp.var(few, dtype="float16").dtype == np.float16
    assert float(rnp.var(few, dtype="float16")) == pytest.approx(14 / 9, rel=1e-3)


def test_classes_of_refusals():
    with pytest.raises(ValueError, match="unwrap does not support complex"):
        rnp.unwrap(np.ones(3, "c8"))
    for error in (TypeError, ValueError):
        with pytest.raises(error, match="only one dimension can be worked out"):
            rnp.reshape(np.ones((2, 6)), (2, -1, -1))
    with pytest.raises(NotImplementedError, match="the order 'K' is not there"):
        rnp.ravel(np.ones((2, 6)), order="K")


@pytest.mark.forbidden("disable_jit")
@pytest.mark.needs("jit")
def test_an_array_is_no_condition():
    with pytest.raises(ValueError, match=r"truth value of an array of 3 elements .* is ambiguous"):
        rb.jit(lambda x: 1 if x else 2)(np.ones(3))
