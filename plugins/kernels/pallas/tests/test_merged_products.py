"""Sums of products over the last dimension of a grid: which are one on the CPU, and which are not."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.experimental.pallas as pl
import rabbet.numpy as rnp
from rabbet.experimental.pallas import tpu

pytestmark = pytest.mark.needs("jit", "numpy")
RNG = np.random.default_rng(0)


def blocks_of(kernel, x, y, dtype="float32", outs=1, grid=2, scratch=True):
    """A kernel of a row of blocks of 4 columns of ``x``, and as many rows of ``y``."""
    struct, n = rb.ShapeDtypeStruct((x.shape[0], y.shape[1]), dtype), x.shape[1] // 4
    whole = pl.BlockSpec(struct.shape, lambda k: (0, 0))
    return pl.pallas_call(
        kernel, [struct] * outs, grid=n,
        in_specs=[pl.BlockSpec((x.shape[0], 4), lambda k: (0, k)),
                  pl.BlockSpec((4, y.shape[1]), lambda k: (k, 0))],
        out_specs=[whole] * outs, scratch_shapes=[tpu.VMEM(struct.shape, dtype)] * scratch,
    )(x, y)  # fmt: skip


def summed(x, y, first="zeros", dtype="float32", turned=False, of=lambda x: x):
    last = x.shape[1] // 4 - 1

    def kernel(x, y, out, total):
        product = rnp.dot(of(x[...]), y[...], preferred_element_type=dtype)
        if first == "zeros":
            pl.when(pl.program_id(0) == 0)(lambda: total.set(rnp.zeros(total.shape, dtype)))
            total[...] = product + total[...] if turned else total[...] + product
        else:

            @pl.when(pl.program_id(0) == 0)
            def _():
                total[...] = product if first == "product" else product + 1

            @pl.when(pl.program_id(0) > 0)
            def _():
                total[...] += product

        @pl.when(pl.program_id(0) == last)
        def _():
            out[...] = total[...]

    return blocks_of(kernel, x, y, dtype)[0]


def counted(f, *args):
    """How many products the program has, and its result."""
    text = rb.jit(f).lower(*args).as_text()
    return text.count("dot_general"), "while" in text, np.asarray(rb.jit(f)(*args))


def drawn(n, dtype="float32"):
    return (8 * RNG.normal(size=(5, n))).astype(dtype), (8 * RNG.normal(size=(n, 3))).astype(dtype)


@pytest.mark.parametrize("first", ["zeros", "product", "more"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("n", [8, 12, 64])
def test_one_product(first, turned, n):
    x, y = drawn(n)
    products, loops, found = counted(lambda x, y: summed(x, y, first, turned=turned), x, y)
    assert products == 1 and not loops
    np.testing.assert_allclose(found, x @ y + (first == "more"), rtol=1e-5, atol=1e-4)


def test_integers_are_exact():
    x, y = drawn(16, "int8")
    products, _, found = counted(lambda x, y: summed(x, y, dtype="int32"), x, y)
    assert products == 1
    np.testing.assert_array_equal(found, x.astype("int32") @ y.astype("int32"))


def test_half_precision_rounds_after_each_block():
    """Sixteen ones and then blocks of 1/512 each: rounded to bfloat16 each time, they are lost."""
    x = rnp.concatenate([rnp.full((1, 4), 4.0), rnp.full((1, 28), 2.0**-10)], 1).astype("bfloat16")
    y = rnp.ones((32, 1), "bfloat16")
    products, _, found = counted(lambda x, y: summed(x, y, dtype="bfloat16"), x, y)
    assert products == 8
    assert float(found[0, 0]) == 16.0


def test_what_is_done_to_a_block_keeps_its_product():
    x, y = drawn(12)
    products, _, found = counted(lambda x, y: summed(x, y, of=lambda x: x * x), x, y)
    assert products == 3
    np.testing.assert_allclose(found, x**2 @ y, rtol=1e-4, atol=1e-3)


def test_a_sum_that_is_looked_at_stays():
    """The largest of the sums so far needs each of them."""
    x, y = drawn(12)

    def kernel(x, y, out, most):
        @pl.when(pl.program_id(0) == 0)
        def _():
            out[...], most[...] = rnp.zeros(out.shape), rnp.zeros(most.shape)

        out[...] += x[...] @ y[...]
        most[...] = rnp.maximum(most[...], out[...])

    f = lambda x, y: blocks_of(kernel, x, y, outs=2, scratch=False)
    assert rb.jit(f).lower(x, y).as_text().count("dot_general") == 3
    parts = np.cumsum([x[:, i : i + 4] @ y[i : i + 4] for i in (0, 4, 8)], 0)
    total, most = rb.jit(f)(x, y)
    np.testing.assert_allclose(total, parts[-1], rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(most, np.maximum(parts.max(0), 0), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("reverse", ["x", "both"])
def test_blocks_in_another_order_are_other_products(reverse):
    x, y = drawn(12)
    at = lambda k: 2 - k
    mine = at if reverse == "both" else (lambda k: k)

    def kernel(x, y, out):
        pl.when(pl.program_id(0) == 0)(lambda: out.set(rnp.zeros(out.shape)))
        out[...] += x[...] @ y[...]

    f = pl.pallas_call(
        kernel, rb.ShapeDtypeStruct((5, 3), "float32"), grid=3,
        in_specs=[pl.BlockSpec((5, 4), lambda k: (0, at(k))), pl.BlockSpec((4, 3), lambda k: (mine(k), 0))],
        out_specs=pl.BlockSpec((5, 3), lambda k: (0, 0)),
    )  # fmt: skip
    other = np.concatenate([y[8:], y[4:8], y[:4]]) if reverse == "x" else y
    np.testing.assert_allclose(rb.jit(f)(x, y), x @ other, rtol=1e-5, atol=1e-4)


def test_an_edge_of_less_than_a_block_is_not_summed_twice():
    """A last block that reaches beyond the arrays is masked by the kernel, so it is a product of its own."""
    x, y = drawn(10)

    def kernel(x, y, out):
        pl.when(pl.program_id(0) == 0)(lambda: out.set(rnp.zeros(out.shape)))
        left = rb.lax.broadcasted_iota("int32", (5, 4), 1) + 4 * pl.program_id(0) < 10
        below = rb.lax.broadcasted_iota("int32", (4, 3), 0) + 4 * pl.program_id(0) < 10
        out[...] += rnp.where(left, x[...], 0) @ rnp.where(below, y[...], 0)

    f = pl.pallas_call(
        kernel, rb.ShapeDtypeStruct((5, 3), "float32"), grid=3,
        in_specs=[pl.BlockSpec((5, 4), lambda k: (0, k)), pl.BlockSpec((4, 3), lambda k: (k, 0))],
        out_specs=pl.BlockSpec((5, 3), lambda k: (0, 0)),
    )  # fmt: skip
    np.testing.assert_allclose(rb.jit(f)(x, y), x @ y, rtol=1e-5, atol=1e-4)
