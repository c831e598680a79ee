"""Scalars that a function makes while it is traced, and small arrays that it makes or captures, are constants
of its program; others are operands.
"""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet_jit import jit

X = np.float32([1, 2])


def made(value, dtype=np.float32):
    return rb.device_put(np.asarray(value, dtype))


def operands(f, *args):
    """How many inputs the compiled program has, captured arrays included."""
    return f.lower(*args).as_text().split("@main(")[1].split("->")[0].count("%arg")


def test_a_scalar_made_inside_is_a_literal():
    f = jit(lambda x: x * made(3) + made(1))
    assert operands(f, X) == 1 and "3.0000000000e+00" in f.lower(X).as_text()
    np.testing.assert_array_equal(f(X), 3 * X + 1)
    np.testing.assert_array_equal(f.lower(X).compile()(X), 3 * X + 1)


def test_a_scalar_of_the_users_is_an_operand():
    y = made(3)
    f = jit(lambda x: x * y)
    assert operands(f, X) == 2 and "3.0000000000e+00" not in f.lower(X).as_text()
    np.testing.assert_array_equal(f(X), 3 * X)


def test_one_of_a_function_inside():
    inner = jit(lambda x: x * made(3))
    f = jit(lambda x: inner(x) + inner(x + 1))
    assert operands(f, X) == 1
    np.testing.assert_array_equal(f(X), 3 * X + 3 * (X + 1))
    np.testing.assert_array_equal(f(X), inner(X) + inner(X + 1))


def test_into_loops_and_branches():
    def f(x):
        step = made(2, np.int32)
        return lax.while_loop(lambda c: c[0] < 6, lambda c: (c[0] + step, c[1] * 2), (np.int32(0), x))

    assert operands(jit(f), X) == 1
    np.testing.assert_array_equal(jit(f)(X)[1], 8 * X)
    g = lambda x: lax.cond(x[0] > 0, lambda x, y: x + y, lambda x, y: x - y, x, made(5))
    assert operands(jit(g), X) == 1
    np.testing.assert_array_equal(jit(g)(X), X + 5)


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "float16", "float32", "complex64"])
def test_types_and_values_stay(dtype):
    f = jit(lambda: (made(1, dtype), lax.neg(lax.broadcast(made(1, dtype).astype("float32"), (2,)))))
    one, two = f()
    assert one.dtype == dtype and not one.weak_type and one.tolist() == 1 and two.tolist() == [-1, -1]


def test_small_arrays_are_constants_whoever_holds_them():
    y = made([2, 3])
    f = jit(lambda x: x * y + made([1, 0]))
    assert operands(f, X) == 1 and "dense<[2.0000000000e+00, 3.0000000000e+00]>" in f.lower(X).as_text()
    for run in (f, f.lower(X).compile(), jit(lambda x: f(x))):
        np.testing.assert_array_equal(run(X), [3, 6])
    y.delete()
    np.testing.assert_array_equal(f(X), [3, 6])
    assert len(f.trace(X).jaxpr.consts) == 2
    assert "[2.0,3.0]:f32[2]" in str(f.lower(X).program.closed.jaxpr)


@pytest.mark.parametrize(
    "value",
    [
        np.array([True, False]), np.arange(-3, 3, dtype=np.int8).reshape(2, 3), np.uint32([2**32 - 1]),
        np.float32([np.nan, np.inf, -0.0, 1e-45, 0.1]), np.float16([6e-8, 65504]),
        np.complex64([1 + 2j, complex(-0.0, np.inf)]), np.zeros((2, 0, 3), np.float32),
    ],
    ids=str,
)  # fmt: skip
def test_arrays_are_exact(value):
    held = rb.device_put(value)
    ours = lambda x: (lax.reshape(held, value.shape[::-1]), x)
    out = np.asarray(jit(ours)(1.0)[0])
    assert out.dtype == value.dtype and out.tobytes() == value.reshape(value.shape[::-1]).tobytes()


def test_others_stay_operands():
    large = made(np.ones((16, 16)))
    assert operands(jit(lambda x: x * large[0, 0]), X) == 2
    for place in (rb.devices()[0], None):
        held = rb.device_put(np.float32([2, 3]), place)
        placed = jit(lambda x, held=held: x * held)
        assert operands(placed, X) == (1 if place is None else 2)
        np.testing.assert_array_equal(placed(X), [2, 6])
    result = jit(lambda x: (x, made(2), made([2, 3])))
    assert result(X)[1].tolist() == 2 and result(X)[2].tolist() == [2, 3]
    y = made([4, 5])
    with rb.config.override(transfer_guard_device_to_host="disallow"):
        guarded = jit(lambda x: x * y)
        assert operands(guarded, X) == 2
    np.testing.assert_array_equal(guarded(X), [4, 10])


def test_arguments_behind_constants_are_still_given_up_and_left_out():
    y = made([2, 3])
    f = jit(lambda a, unread, b: (a * y, b + y), donate_argnums=2)
    assert operands(f, X, X, X) == 2
    b = rb.device_put(X)
    one, two = f(X, X, b)
    assert (one.tolist(), two.tolist()) == ([2, 6], [3, 5]) and b.is_deleted()


def test_a_nan_among_constants_is_found():
    y = made([np.inf, 3])
    with rb.debug_nans(), pytest.raises(FloatingPointError, match="'sub' produced a NaN"):
        jit(lambda x: lax.exp(x) * (y - y))(X)


def test_a_new_program_where_another_array_is_captured():
    def with_array(y):
        return jit(lambda x: x * y)

    for n in (2, 3):
        np.testing.assert_array_equal(with_array(made([n, n]))(X), n * X)


def test_derivatives_and_batches_of_it():
    autodiff = pytest.importorskip("rabbet_autodiff")
    vmap = pytest.importorskip("rabbet_vmap").vmap
    f = jit(lambda x: lax.sin(x) * made(3))
    np.testing.assert_allclose(autodiff.grad(f)(1.0), 3 * np.cos(1), rtol=1e-6)
    np.testing.assert_allclose(jit(vmap(autodiff.grad(f)))(X), 3 * np.cos(X), rtol=1e-6)


def test_a_dead_one_is_forgotten():
    from rabbet_jit import small_constants

    f = jit(lambda x: x * made(3))
    f(X)
    kept = len(small_constants._made_inside)
    f.clear_cache()
    del f
    assert len(small_constants._made_inside) < kept
