"""Scalars that a function makes while it is traced are literals of its program."""

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


@pytest.mark.needs("cpu")
def test_a_scalar_of_the_users_is_one_for_the_first_programs():
    def times(y):
        return jit(lambda x: x * y)

    made_anew = [times(made(k)) for k in range(3, 7)]
    assert [operands(f, X) for f in made_anew] == [1, 1, 2, 2]
    for k, f in enumerate(made_anew, 3):
        np.testing.assert_array_equal(f(X), k * X)


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


def test_as_a_result():
    result = jit(lambda x: (x, made(2)))
    assert result(X)[1].tolist() == 2


def test_derivatives_and_batches_of_it():
    autodiff = pytest.importorskip("rabbet_autodiff")
    vmap = pytest.importorskip("rabbet_vmap").vmap
    f = jit(lambda x: lax.sin(x) * made(3))
    np.testing.assert_allclose(autodiff.grad(f)(1.0), 3 * np.cos(1), rtol=1e-6)
    np.testing.assert_allclose(jit(vmap(autodiff.grad(f)))(X), 3 * np.cos(X), rtol=1e-6)


@pytest.mark.forbidden("disable_jit")
def test_a_dead_one_is_forgotten():
    from rabbet_jit import scalar_constants

    f = jit(lambda x: x * made(3))
    f(X)
    kept = len(scalar_constants._made_inside)
    f.clear_cache()
    del f
    assert len(scalar_constants._made_inside) < kept
