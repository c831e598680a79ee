"""The laws of ``primitives/contractions.py``, then its corners and messages."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.testing import driver
from rabbet.testing.draws import device_array
from rabbet.testing.rows.contractions import ROWS
from rabbet.testing.suite import law_tests

pytestmark = [pytest.mark.exhaustive, pytest.mark.optimized]

test_value, _, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)


def some(*shape, dtype="float32"):
    return device_array(np.arange(1, 1 + np.prod(shape)).reshape(shape).astype(dtype))


def transposed_shapes(numbers, lhs, rhs, linear):
    """The shapes and contracted dimensions of the product that transposition by one operand makes."""
    from rabbet.primitives.contractions import dot_general, transpose_dot_general
    from rabbet.program.avals import ShapedArray
    from rabbet.rules.payloads import Linear
    from rabbet.trace.staging import stage

    op = dot_general.op(dimension_numbers=numbers, precision=None, preferred_element_type=None)
    x, y = ShapedArray(lhs, "float32"), ShapedArray(rhs, "float32")

    def transpose(ct, known):
        operands = (Linear(x), known) if linear == 0 else (known, Linear(y))
        return [transpose_dot_general(op, ct, *operands)[linear]]

    jaxpr = stage(transpose, [op.out((x, y)), y if linear == 0 else x]).jaxpr
    (dot,) = [e for e in jaxpr.equations if e.primitive is dot_general]
    others = [e.primitive.name for e in jaxpr.equations if e.primitive is not dot_general]
    return [v.aval.shape for v in dot.inputs], dot.params["dimension_numbers"], others


def test_weight_gradients_keep_the_dimensions_of_operands():
    """A reshape of what is cut over devices would cost collective operations."""
    numbers = (((2,), (0,)), ((), ()))
    shapes, dims, others = transposed_shapes(numbers, (2, 3, 4), (4, 5), linear=1)
    assert shapes == [(2, 3, 4), (2, 3, 5)]
    assert dims == (((0, 1), (0, 1)), ((), ()))
    assert others == []


@pytest.mark.parametrize("linear", [0, 1])
def test_transposing_a_stack_of_products_moves_nothing(linear):
    numbers = (((2,), (1,)), ((0,), (0,)))
    _, _, others = transposed_shapes(numbers, (2, 3, 4), (2, 4, 5), linear)
    assert others == []


def test_dot_and_batch_matmul():
    x, y = some(2, 3), some(3, 4)
    np.testing.assert_array_equal(lax.dot(x, y), np.asarray(x) @ np.asarray(y))
    np.testing.assert_array_equal(lax.dot(x, y, precision="highest"), np.asarray(x) @ np.asarray(y))
    a, b = some(2, 2, 3), some(2, 3, 2)
    np.testing.assert_array_equal(lax.batch_matmul(a, b), np.asarray(a) @ np.asarray(b))


def test_different_dtypes_are_promoted():
    out = lax.dot(some(2, 3, dtype="int32"), some(3, 2))
    assert out.dtype == np.float32


def test_sums_in_a_wider_dtype_are_exact():
    x = device_array(np.full((1, 300), 100, np.int8))
    assert lax.dot(x, x.transpose(), preferred_element_type="int32").item() == 3_000_000
    ones = device_array(np.ones((1, 4096), np.float16))
    assert lax.dot(ones, ones.transpose(), preferred_element_type=np.float32).item() == 4096.0


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("default", "DEFAULT"),
        ("bfloat16_3x", "HIGH"),
        ("tensorfloat32", "HIGH"),
        ("float32", "HIGHEST"),
        ("highest", "HIGHEST"),
    ],
)
def test_names_of_precisions(name, precision):
    assert lax.Precision(name) is lax.Precision[precision]


def precision_of(**kwargs):
    from rabbet.trace.interpreter import typeof
    from rabbet.trace.staging import stage

    x = some(2, 2)
    jaxpr = stage(lambda a: [lax.dot(a, a, **kwargs)], [typeof(x)]).jaxpr
    return jaxpr.equations[0].params["precision"]


def test_default_precision_is_a_setting():
    from rabbet import config

    with config.override(default_matmul_precision=None):
        assert precision_of() is None
    with config.override(default_matmul_precision="float32"):
        assert precision_of() == (lax.Precision.HIGHEST, lax.Precision.HIGHEST)
        assert precision_of(precision=("high", None)) == (lax.Precision.HIGH, lax.Precision.DEFAULT)
    assert precision_of(precision="F32_F32_F32") is lax.DotAlgorithmPreset.F32_F32_F32
    assert precision_of(precision=lax.DotAlgorithmPreset.DEFAULT) is None


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: lax.dot(some(2, 3), some(2, 3)), TypeError, "contracting dimension 1 of the left operand"),
        (lambda: lax.dot(some(2, 3, 1), some(1, 3)), TypeError, "lax.dot_general, lax.batch_matmul or"),
        (lambda: lax.batch_matmul(some(2), some(2)), TypeError, "of one rank, at least 2"),
        (lambda: lax.dot_general(some(2), some(2), ((0,), (0,))), TypeError, "dimension_numbers must be"),
        (lambda: lax.dot_general(some(2), some(2), (((4,), (0,)), ((), ()))), ValueError, "axis 4 is out"),
        (lambda: lax.dot_general(some(2), some(2), (((0,), (0,)), ((0,), (0,)))), ValueError, "repeat one"),
        (lambda: lax.dot_general(some(2), some(2), (((0,), ()), ((), ()))), TypeError, "give as many"),
        (lambda: lax.dot(some(2, 2), some(2, 2), precision="exact"), ValueError, "is not a precision; use"),
    ],
)  # fmt: skip
def test_messages(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_an_algorithm_that_has_no_name():
    x = device_array(np.float32([[1, 2], [3, 4]]))
    exact = lax.DotAlgorithm("f32", "f32", "f32")
    out, pull = driver.vjp(lambda a, b: (lax.dot(a, b, precision=exact),), x, x)
    assert out[0].tolist() == [[7, 10], [15, 22]]
    ones = device_array(np.ones((2, 2), np.float32))
    assert [g.tolist() for g in pull((ones,))] == [[[3, 7], [3, 7]], [[4, 4], [6, 6]]]


@pytest.mark.parametrize(
    ("x", "y", "result"),
    [
        ("int8", "uint8", "int8"), ("uint8", "int8", "int8"), ("int8", "uint16", "uint16"),
        ("int32", "uint32", "int32"), ("int32", "float16", "float16"), ("bool", "int8", "int8"),
        ("float32", "complex64", "complex64"), ("uint8", "float32", "float32"),
    ],
)  # fmt: skip
def test_a_product_of_two_dtypes_has_the_wider_one(x, y, result):
    """Its sums are those of the wider dtype, modulo where that is an integer."""
    a, b = np.array([1, 1, 0, 1]).astype(x), np.array([1, 1, 1, 1]).astype(y)
    if x != "bool":
        a = a * np.array(100, x)
    out = lax.dot_general(a, b, (((0,), (0,)), ((), ())))
    assert out.dtype == result
    exact = int(np.sum(a.astype("int64") * b.real.astype("int64")))
    assert np.asarray(out) == np.array(exact).astype(result)
