"""Small arrays that a function captures are written into its program, where that changes no number."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet_jit import jit

pytestmark = pytest.mark.needs("cpu")
X = np.float32([1, 2, 3])


def array(*values, dtype=np.float32):
    return rb.device_put(np.asarray(values, dtype))


def operands(f, *args):
    """How many inputs the compiled program has, captured arrays included."""
    return f.lower(*args).as_text().split("@main(")[1].split("->")[0].count("%arg")


def test_a_small_array_stands_in_the_program():
    v = array(10, 20, 30)
    f = jit(lambda x: x * v)
    text = f.lower(X).as_text()
    assert operands(f, X) == 1 and "dense<[1.0000000000e+01, 2.0000000000e+01, 3.0000000000e+01]>" in text
    for call in (f, f.lower(X).compile(), jit(lambda x: f(x) + 0 * x)):
        np.testing.assert_array_equal(call(X), X * [10, 20, 30])
    np.testing.assert_array_equal(jit(lambda: v)(), [10, 20, 30])
    assert len(jit(lambda x: x + v).trace(X).jaxpr.consts) == 1  # programs have it as before


@pytest.mark.forbidden("disable_jit")
def test_a_numpy_array_is_as_it_was():
    v = np.float32([1, 2, 3])
    f = jit(lambda x: x * v)
    f(X)
    v[:] = 7
    assert operands(f, X) == 1
    np.testing.assert_array_equal(f(X), X * X)


@pytest.mark.forbidden("numpy_rank_promotion")
def test_large_arrays_and_many_are_arguments():
    large, many = rb.device_put(np.ones((257, 1), np.float32)), [array(*range(i, i + 250)) for i in range(6)]
    assert operands(jit(lambda x: x + large), X) == 2
    f, x = jit(lambda x: sum(many, x)), np.zeros(250, np.float32)
    assert operands(f, x) == 1 + 2
    np.testing.assert_array_equal(f(x), 6 * np.arange(250) + 15)
    with rb.config.override(captured_constants_written_bytes=0):
        assert operands(f, x) == 1 + 6
        np.testing.assert_array_equal(f(x), 6 * np.arange(250) + 15)


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int32", "float16", "float32", "complex64", "bfloat16", "int4"]
)
def test_types_and_bits_stay(dtype):
    if dtype in ("bfloat16", "int4"):
        pytest.importorskip(f"rabbet_{dtype}")
    v = rb.device_put(np.float32([0, 1, -2])).astype(dtype)
    f = jit(lambda x: (v, lax.reshape(v, (3, 1)), x))
    assert operands(f, X) == 1
    one, two, _ = f(X)
    assert one.dtype == two.dtype == v.dtype and one.tolist() == v.tolist()
    assert two.tolist() == [[x] for x in v.tolist()]


def test_every_bit_of_a_float():
    bits = np.uint32([1, 0x80000001, 0x7FFFFF, 0x80000000, 0x3EAAAAAB, 0x7F7FFFFF, 0x00800000, 0xB3D6BF95])
    v, x = rb.device_put(bits.view(np.float32)), np.float32(0)
    f = jit(lambda x: (v, x))
    assert operands(f, x) == 1
    np.testing.assert_array_equal(np.asarray(f(x)[0]).view(np.uint32), bits)


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_stays_outside(value):
    v = array(1, value, 2)
    f = jit(lambda x: lax.exp(x + v))
    assert operands(f, X) == 2
    np.testing.assert_allclose(f(X), np.exp(X + np.float32([1, value, 2])), rtol=1e-6)


@pytest.mark.forbidden("numpy_rank_promotion")
def test_what_the_compiler_would_compute_stays_outside():
    v, w, i = array(1, -2, 3), array(3, 3, 3), array(0, 2, dtype=np.int32)
    assert operands(jit(lambda x: x * lax.log(v)), X) == 2
    assert operands(jit(lambda x: x + (v - w)), X) == 3
    assert operands(jit(lambda x: x + lax.reshape(v, (3, 1)) * 2), X) == 2
    assert operands(jit(lambda x: x / v), X) == operands(jit(lambda x: x**v), X) == 2
    assert operands(jit(lambda x: v / x), X) == 1
    assert operands(jit(lambda x: x + lax.reshape(v, (3, 1))), X) == 1
    assert operands(jit(lambda x: x[i]), X) == 1  # what is computed of integers is the same anywhere
    f = jit(lambda x: lax.exp(x * lax.log(v)))
    np.testing.assert_allclose(f(X), np.exp(X * np.log(np.float32([1, np.nan, 3]))), rtol=1e-6)


@pytest.mark.forbidden("disable_jit")
def test_within_loops_branches_and_calls():
    v, flag = array(1, 2, 3), array(True, dtype=bool)[0]
    total = lambda x: lax.scan(lambda c, a: (c * 1.5 + a, c), x, v)[0]
    f = jit(total)
    assert operands(f, X[0]) == 1
    assert float(f(X[0])) == ((1 * 1.5 + 1) * 1.5 + 2) * 1.5 + 3
    loop = jit(lambda x: lax.while_loop(lambda c: c[0] < 50, lambda c: c * 2 + v, x))
    assert operands(loop, X) == 1
    assert loop(X).tolist() == [63, 126, 189]
    branch = jit(lambda x: lax.cond(x[0] > 0, lambda x: x + v, lambda x: x - v, x))
    assert operands(branch, X) == 1
    assert branch(X).tolist() == [2, 4, 6] and branch(-X).tolist() == [-2, -4, -6]
    inner = jit(lambda x: x * v)
    assert operands(jit(lambda x: inner(x) + inner(x + 1)), X) == 1
    decided = jit(lambda x: lax.cond(flag, lambda x: x + 1, lambda x: x - 1, x))
    assert operands(decided, X) == 2 and decided(X).tolist() == [2, 3, 4]
    assert operands(jit(lambda x: lax.scan(lambda c, a: (lax.sin(a) + c, c), x, v)), X[0]) == 2


@pytest.mark.forbidden("disable_jit")
def test_an_array_that_was_deleted_or_given_up():
    v = array(10, 20, 30)
    f = jit(lambda x: x + v, donate_argnums=0)
    assert f(array(1, 2, 3)).tolist() == [11, 22, 33]
    assert f(v).tolist() == [20, 40, 60] and v.is_deleted()
    assert f(array(1, 2, 3)).tolist() == [11, 22, 33]
    with pytest.raises(rb.errors.DeletedArrayError):
        jit(lambda x: x * v)(X)


def test_a_function_made_anew_with_other_arrays():
    def adding(v):
        return jit(lambda x: x + v)

    made = [adding(array(k, k, k)) for k in range(5)]
    for k, f in enumerate(made):
        np.testing.assert_array_equal(f(X), X + k)
    assert [operands(f, X) for f in made] == [1, 1, 2, 2, 2]
    assert operands(adding(array(1, 1, 1)), X) == 1  # that program is there
    rb.clear_caches()
    assert operands(adding(array(9, 9, 9)), X) == 1


@pytest.mark.needs("grad", "vmap")
def test_derivatives_and_batches():
    v = array(1, 2, 3)
    f = lambda x: lax.reduce_sum(lax.sin(x) * v, axes=(0,))
    np.testing.assert_allclose(jit(rb.grad(f))(X), np.cos(X) * [1, 2, 3], rtol=1e-6)
    np.testing.assert_allclose(rb.grad(jit(f))(X), np.cos(X) * [1, 2, 3], rtol=1e-6)
    rows = np.stack([X, 2 * X])
    np.testing.assert_allclose(jit(rb.vmap(f))(rows), (np.sin(rows) * [1, 2, 3]).sum(1), rtol=1e-5)
    assert operands(jit(rb.vmap(f)), rows) == 1


@pytest.mark.needs("new_ref")
def test_what_is_in_a_reference_is_no_constant():
    cell = rb.new_ref(array(1, 2, 3))
    f = jit(lambda x: x + cell[...])
    assert f(X).tolist() == [2, 4, 6]
    cell[...] = array(10, 20, 30)
    assert f(X).tolist() == [11, 22, 33]


@pytest.mark.needs("random")
def test_a_key_stays_outside():
    key = rb.random.key(3)
    f = jit(lambda x: x + rb.random.uniform(key, (3,)))
    assert operands(f, X) == 2
    np.testing.assert_array_equal(f(X), jit(lambda x, key: x + rb.random.uniform(key, (3,)))(X, key))


def test_it_is_told_where_a_nan_comes_from():
    v = array(0, 1, 2)
    f = jit(lambda x: lax.sqrt(x - v))
    with rb.config.override(debug_nans=True):
        np.testing.assert_allclose(f(X), np.sqrt([1, 1, 1]), rtol=1e-6)
        with pytest.raises(FloatingPointError, match="sqrt"):
            f(X - 2)


def test_for_another_platform_it_is_an_argument():
    v = array(1, 2, 3)
    f = jit(lambda x: x + v)
    assert "%arg1" in f.trace(X).lower(platform="tpu").as_text()
