"""The laws of windows and of reductions by any computation, then their corners and messages."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.testing import checks, driver
from rabbet.testing.draws import device_array, floats
from rabbet.testing.slopes import gradient
from rabbet.testing.suite import law_tests
from rabbet_convolution.rows.windows import ROWS

test_value, test_extremes, test_mapping, test_derivatives, test_kinds = law_tests(ROWS)

X = np.random.default_rng(0).uniform(-2, 2, (4, 6)).astype(np.float32)


def used(fn, *args):
    """The names of the primitives that a function uses."""
    from rabbet.extend.passes import stage
    from rabbet.extend.transform import typeof

    program = stage(lambda *xs: [fn(*xs)], [typeof(a) for a in args])
    return {eqn.op.primitive.name for eqn in program.eqns}


def test_known_computations_are_the_known_reductions():
    x = device_array(X)
    for step, init, numpy in (
        (lax.add, 0.0, np.sum), (lax.mul, 1.0, np.prod), (lax.max, -np.inf, np.max),
        (lax.min, np.inf, np.min),
    ):  # fmt: skip
        np.testing.assert_allclose(lax.reduce(x, init, step, (0,)), numpy(X, axis=0), rtol=1e-5)
        assert used(lambda v, step=step, init=init: lax.reduce(v, init, step, (-1,)), x) <= {
            "reduce_sum", "reduce_prod", "reduce_max", "reduce_min"
        }  # fmt: skip
    bits = device_array(X > 0)
    assert np.asarray(lax.reduce(bits, True, lax.bitwise_and, (0,))).tolist() == (X > 0).all(0).tolist()
    assert np.asarray(lax.reduce(bits, False, lax.bitwise_or, (1,))).tolist() == (X > 0).any(1).tolist()
    np.testing.assert_allclose(lax.reduce(x, 2.0, lax.add, (0, 1)), X.sum() + 2, rtol=1e-5)


def test_reduce_trees_and_captured_values():
    x, places = device_array(X), lax.broadcasted_iota(np.int32, (4, 6), 1)

    def greater(a, b):
        first = a["key"] >= b["key"]
        return {name: lax.select(first, a[name], b[name]) for name in a}

    out = lax.reduce({"key": x, "place": places}, {"key": -np.inf, "place": 0}, greater, (1,))
    assert np.asarray(out["place"]).tolist() == X.argmax(1).tolist()
    two = floats(0.5, 2.0)
    out = driver.jit(lambda v, t: (lax.reduce(v, 0.0, lambda a, b: a + b + t[0] * (a * b), (0, 1)),))(x, two)
    np.testing.assert_allclose(out[0], 2 * (np.prod(1 + X / 2) - 1), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("n", [33, 64, 1000])
def test_the_initial_value_of_a_long_reduction_counts_once(n):
    xs = np.random.default_rng(0).uniform(-0.05, 0.05, (3, n)).astype(np.float32)

    def blend(a, b):
        return a + b + 0.5 * (a * b)

    (out,) = driver.jit(lambda v: (lax.reduce(v, 0.3, blend, (1,)),))(device_array(xs))
    np.testing.assert_allclose(out, 2 * (np.prod(1 + xs / 2, axis=1) * 1.15 - 1), rtol=1e-4, atol=1e-5)


def test_long_reductions_keep_the_order_of_the_elements():
    rng = np.random.default_rng(0)
    slopes, shifts = rng.uniform(0.9, 1.1, 200).astype(np.float32), rng.uniform(-1, 1, 200).astype(np.float32)

    def compose(first, second):
        return first[0] * second[0], first[1] * second[0] + second[1]

    slope, shift = lax.reduce((device_array(slopes), device_array(shifts)), (2.0, 1.0), compose, (0,))
    wanted = np.float64(1)
    for a, b in zip(slopes.astype(np.float64), shifts, strict=True):
        wanted = a * wanted + b
    np.testing.assert_allclose((slope, shift), (2 * np.prod(slopes.astype(np.float64)), wanted), rtol=1e-4)


def test_reduce_by_a_computation_with_branches():
    def step(a, b):
        return lax.cond(a > b, lambda: a, lambda: b)

    assert np.asarray(lax.reduce(device_array(X), -np.inf, step, (1,))).tolist() == X.max(1).tolist()
    out = lax.reduce_window(device_array(X), -np.inf, step, (2, 2), (2, 3), "SAME")
    assert np.asarray(out).tolist() == [
        [X[i : i + 2, j : j + 2].max() for j in (0, 3)] for i in (0, 2)
    ]  # fmt: skip


def test_initial_values_per_example():
    starts = (-9.0, -8.0, -7.0)
    x = device_array(X)

    def both(init):
        def greater(a, b):
            return lax.select(a >= b, a, b)

        padding = [(0, 0), (2, 0)]  # the first window holds nothing else
        return lax.reduce(x, init, greater, (1,)), lax.reduce_window(
            x, init, greater, (1, 2), padding=padding
        )

    mapped = driver.vmap(both, (0,))(floats(*starts))
    for i, start in enumerate(starts):
        for out, alone in zip(mapped, both(start), strict=True):
            assert np.asarray(out)[i].tolist() == np.asarray(alone).tolist()


def test_reductions_of_nothing():
    empty = device_array(np.zeros((0, 2), np.float32))
    assert np.asarray(lax.reduce(empty, 3.0, lambda a, b: a * b + a, (0,))).tolist() == [3, 3]
    assert lax.reduce_window(empty, 0.0, lax.add, (2, 1)).shape == (0, 2)
    wide = lax.reduce_window(floats(1, 2), 0.0, lax.add, (5,))
    assert wide.shape == (0,)
    assert gradient(lambda v: lax.reduce_window(v, 0.0, lax.add, (5,)), floats(1, 2)) == [0, 0]
    assert gradient(lambda v: lax.reduce_window(v, -np.inf, lax.max, (5,)), floats(1, 2)) == [0, 0]


def test_the_first_of_equal_elements_has_the_derivative():
    x = floats(1.0, 3.0, 3.0, 2.0)
    assert gradient(lambda v: lax.reduce_window(v, -np.inf, lax.max, (2,)), x) == [0, 2, 1, 0]
    assert gradient(lambda v: lax.reduce_window(v, np.inf, lax.min, (2,)), x) == [1, 1, 0, 1]


def test_derivatives_of_padded_windows():
    """Against differences by the operand alone."""
    row = next(row for row in ROWS if row.note == "blend far")
    _, init = (device_array(a) for a in row.draw("float64"))
    alone = row.but(primitive=OfOperand(row, init), inputs=row.inputs[:1], params={})
    checks.check_laws(alone, ["forward", "reverse"], dtype="float64")


class OfOperand:
    """A row's operation with its initial value fixed, in the place of a primitive."""

    name, multiple_results = "windows of the operand", True

    def __init__(self, row, init):
        self.fn, self.init = row.function("float64"), init

    def op(self):
        return lambda x: self.fn(x, self.init)


def test_paddings():
    assert lax.padtype_to_pads((5, 6), (3, 2), (2, 2), "SAME") == [(1, 1), (0, 0)]
    assert lax.padtype_to_pads((6,), (3,), (2,), "SAME") == [(0, 1)]
    assert lax.padtype_to_pads((6,), (3,), (2,), "SAME_LOWER") == [(1, 0)]
    assert lax.padtype_to_pads((6,), (3,), (2,), lax.PaddingType.VALID) == [(0, 0)]
    with pytest.raises(RuntimeError, match=r"unknown padding 'FULL'"):
        lax.padtype_to_pads((6,), (3,), (2,), "FULL")
    with pytest.raises(TypeError, match=r"padding must be 'VALID', 'SAME' or 'SAME_LOWER', got 3"):
        lax.padtype_to_pads((6,), (3,), (2,), 3)


@pytest.mark.narrow
def test_messages():
    x = floats(1, 2)
    with pytest.raises(TypeError, match=r"must be a scalar of its dtype, got i32"):
        lax.reduce(x, device_array(np.int32([1, 2])), lambda a, b: a - b, (0,))
    with pytest.raises(TypeError, match=r"must be a scalar of its dtype, got f32"):
        lax.reduce(device_array(np.int32([1, 2])), 0.5, lax.add, (0,))
    with pytest.raises(TypeError, match=r"the computation combines two elements of f32\[2\] to one"):
        lax.reduce(x, 0.0, lambda a, b: a > b, (0,))
    with pytest.raises(TypeError, match=r"must return the structure of one element"):
        lax.reduce(x, 0.0, lambda a, b: (a, b), (0,))
    with pytest.raises(ValueError, match=r"must have one structure"):
        lax.reduce((x, x), 0.0, lax.add, (0,))
    with pytest.raises(ValueError, match=r"axis 1 is out of range"):
        lax.reduce(x, 0.0, lax.add, (1,))
    with pytest.raises(
        ValueError, match=r"window_dimensions \(2, 2\) is of length 2; give one per dimension, 1"
    ):
        lax.reduce_window(x, 0.0, lax.add, (2, 2))
    with pytest.raises(ValueError, match=r"window_strides \(0,\) must be positive"):
        lax.reduce_window(x, 0.0, lax.add, (2,), (0,))
    with pytest.raises(ValueError, match=r"cuts off more than there is"):
        lax.reduce_window(x, 0.0, lax.add, (1,), padding=[(-2, -1)])
    with pytest.raises(TypeError, match=r"or a pair"):
        lax.reduce_window(x, 0.0, lax.add, (2,), padding=[1])
    with pytest.raises(ValueError, match=r"window_strides \(0,\) must be positive"):
        lax.reduce_window(x, 0.0, lax.add, (2,), (0,), "SAME")


def test_an_initial_value_may_be_an_array_without_dimensions():
    x = floats(1, 2)
    assert lax.reduce(x, np.zeros((), np.float32), lax.add, (0,)).item() == 3
    assert lax.reduce_window(x, np.array(5.0), lax.max, (2,)).tolist() == [5]


def test_an_array_without_dimensions_is_one_window():
    assert lax.reduce_window(np.float32(3), np.float32(1), lax.add, (), (), "VALID").item() == 4
    assert lax.reduce_window(np.float32(3), np.float32(0), lax.add, (), (), "VALID").item() == 3


def test_a_tuple_where_operands_come_as_a_list():
    both = lambda a, b: (a[0] + b[0], a[1] * b[1])
    x = np.float32([1, 2, 3])
    assert [float(v) for v in lax.reduce([x, x], [0.0, 1.0], both, (0,))] == [6, 6]
    assert [float(v) for v in lax.reduce((x, x), (0.0, 1.0), lambda a, b: [*both(a, b)], (0,))] == [6, 6]
    with pytest.raises(TypeError, match="must return the structure of one element"):
        lax.reduce([x, x], [0.0, 1.0], lambda a, b: (a[0],), (0,))


@pytest.mark.needs("int4")
def test_extremes_of_integers_of_few_bits():
    x = lax.convert_element_type(np.arange(-4, 4), "int4")
    found = lax.reduce_window(x, -np.inf, lax.max, (2,), (1,), "VALID")
    assert found.dtype.name == "int4"
    np.testing.assert_array_equal(found.astype("int32"), np.arange(-3, 4))
