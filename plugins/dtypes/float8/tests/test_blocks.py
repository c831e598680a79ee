"""Block formats: recipes, products with scales, derivatives."""

import functools

import numpy as np
import pytest
import rabbet
import rabbet.numpy as rnp
from rabbet import dtypes
from rabbet.experimental import float8

pytestmark = pytest.mark.library

config = float8.get_scaled_dot_general_config
LAST = (((1,), (1,)), ((), ()))
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(4, 64)).astype(np.float32), RNG.normal(size=(8, 64)).astype(np.float32)


def test_recipes():
    assert [(config(m).block_size, config(m).data_type.__name__, config(m).scale_type.__name__)
            for m in ("mxfp8", "mxfp4", "nvfp4")] == [
        (32, "float8_e4m3fn", "float8_e8m0fnu"), (32, "float4_e2m1fn", "float8_e8m0fnu"),
        (16, "float4_e2m1fn", "float8_e4m3fn"),
    ]  # fmt: skip
    with pytest.raises(ValueError, match="mode 'mxfp6'; the modes are mxfp8, mxfp4, nvfp4"):
        config("mxfp6")
    with pytest.raises(ValueError, match="mxfp8 has no global scale"):
        config("mxfp8", np.float32(1))


def test_scales_of_mx_blocks_are_the_powers_of_two_above():
    x = np.zeros((4, 32), np.float32)
    x[:, 0] = [448.0, 449.0, 1.0, 0.0]
    values, scales = float8.quantize_blocks(x, config("mxfp8"))
    assert scales[:, 0].astype("float32").tolist() == [1.0, 2.0, 2.0**-8, 2.0**-127]
    assert values[:, 0].tolist() == [448.0, 224.0, 256.0, 0.0]


@pytest.mark.parametrize("mode, wanted", [
    # JAX 0.12 gives these for a block that begins with 1, 0.77, 1/17, 1/3.
    ("mxfp8", [1.0, 0.75, 0.05859375, 0.34375]),
    ("mxfp4", [1.0, 0.75, 0.0, 0.375]),
    ("nvfp4", [1.0634766, 0.7089844, 0.08862305, 0.3544922]),
])  # fmt: skip
@pytest.mark.parametrize("scale", [None, 0.5])
def test_quantized_products_are_those_of_jax(mode, wanted, scale):
    if scale is not None and mode != "nvfp4":
        pytest.skip("no global scale")
    how = config(mode, None if scale is None else rnp.array([scale]))
    x = np.zeros((1, how.block_size), np.float32)
    x[0, :4] = [1.0, 0.77, 1 / 17, 1 / 3]
    eye = np.eye(how.block_size, dtype=np.float32)
    out = float8.scaled_dot_general(x, eye, LAST, configs=[how] * 3)
    assert np.allclose(out[0, :4], wanted, rtol=1e-6)


@pytest.mark.parametrize("mode", ["mxfp8", "mxfp4", "nvfp4"])
def test_a_product_is_that_of_the_quantized_arrays_which_are_close(mode):
    how = config(mode)
    spec, exact = dtypes.spec(how.data_type), []
    for x in (X, Y):
        values, scales = (np.asarray(a).astype(np.float32) for a in float8.quantize_blocks(x, how))
        scales = np.repeat(scales, how.block_size, axis=-1)
        step = float(spec.limits.smallest_subnormal) * scales
        # A scale of e4m3fn is itself rounded, and cuts off the largest number of some blocks.
        of_scale = 0.0 if mode[:2] == "mx" else 2.0**-4
        assert np.all(
            np.abs(values * scales - x) <= (0.5 * float(spec.limits.eps) + of_scale) * np.abs(x) + step
        )
        exact.append(values * scales)
    out = float8.scaled_dot_general(X, Y, LAST, configs=[how] * 3)
    assert np.allclose(out, exact[0] @ exact[1].T, rtol=1e-5, atol=1e-5)


def test_sizes_that_are_no_whole_blocks_are_filled_up():
    x = np.ones((2, 40), np.float32)
    out = float8.scaled_dot_general(x, x, LAST, configs=[config("mxfp8")] * 3)
    assert out.tolist() == [[40.0, 40.0], [40.0, 40.0]]
    with pytest.raises(ValueError, match="40 numbers are not whole blocks of 32"):
        float8.quantize_blocks(x, config("mxfp8"))


def test_dimensions_are_those_of_dot_general():
    a, b = RNG.normal(size=(2, 3, 32, 5)).astype("f"), RNG.normal(size=(32, 2, 7)).astype("f")
    numbers = (((2,), (0,)), ((0,), (1,)))
    plain = float8.scaled_dot_general(a, b, numbers)
    assert np.allclose(plain, np.einsum("bmkn,kbp->bmnp", a, b), atol=1e-5)
    out = float8.scaled_dot_general(a, b, numbers, "float16", configs=[config("mxfp8")] * 3)
    assert out.shape == plain.shape and out.dtype == "float16"
    assert np.abs(np.asarray(out).astype("f") - plain).max() < 0.06 * np.abs(plain).max()


@pytest.mark.needs("grad", "jit")
def test_derivatives_are_quantized_too():
    configs = [config("mxfp8"), config("mxfp8"), config("mxfp4")]

    def product(x, y):
        return float8.scaled_dot_general(x, y, LAST, configs=configs)

    ct = RNG.normal(size=(4, 8)).astype("f")
    _, pull = rabbet.vjp(rabbet.jit(product), rnp.asarray(X), rnp.asarray(Y))
    to_x, to_y = pull(rnp.asarray(ct))
    both = (((1,), (1,)), ((), ()))
    three = [configs[2], configs[1], None]
    wanted = float8.scaled_dot_general(ct, Y.T, both, configs=three)
    assert np.allclose(to_x, wanted, rtol=1e-5)
    assert np.abs(np.asarray(to_y) - ct.T @ X).max() < 0.3 * np.abs(ct.T @ X).max()


@pytest.mark.needs("grad", "jit")
def test_derivatives_of_nvfp4_go_straight_through():
    """As in JAX 0.12, whose numbers these are: 6 * 448 times the global scale is the largest number."""
    x = RNG.normal(size=(16, 64)).astype("f")
    x[0, :5] = [2688.0, 2688.001, -2688.0, np.inf, 6000.0]
    ct = RNG.normal(size=(16, 8)).astype("f")
    for scale, kept in ((1.0, [True, False, True, False, False]), (4.0, [True, True, True, False, True])):
        configs = [config("nvfp4", rnp.array([scale])), config("nvfp4"), config("nvfp4")]
        product = functools.partial(float8.scaled_dot_general, dimension_numbers=LAST, configs=configs)
        _, pull = rabbet.vjp(rabbet.jit(product), rnp.asarray(np.where(np.isinf(x), 1e9, x)), rnp.asarray(Y))
        to_x, to_y = pull(rnp.asarray(ct))
        wanted = ct @ Y
        wanted[0, :5] *= kept
        np.testing.assert_allclose(to_x, wanted, atol=1e-5)
        np.testing.assert_allclose(to_y, ct.T @ np.where(np.isinf(x), 1e9, x), rtol=1e-4, atol=1e-2)


@pytest.mark.needs("grad", "jit")
@pytest.mark.parametrize("scale", [0.02, 4.0])
def test_derivatives_of_nvfp4_factors_by_another_recipe_have_their_global_scale(scale):
    """JAX 0.12 leaves it out, so that its derivative is 50 times as large, or a quarter."""
    factor = config("nvfp4", rnp.array([scale]))
    product = functools.partial(
        float8.scaled_dot_general, dimension_numbers=LAST, configs=[factor, factor, config("mxfp8")]
    )
    ct = RNG.normal(size=(len(X), len(Y))).astype("f")
    _, pull = rabbet.vjp(rabbet.jit(product), rnp.asarray(X), rnp.asarray(Y))
    for got, wanted in zip(pull(rnp.asarray(ct)), (ct @ Y, ct.T @ X), strict=True):
        assert np.abs(got - wanted).max() < 0.3 * np.abs(wanted).max()


def test_scaled_matmul():
    x = rnp.asarray(RNG.integers(-3, 4, (2, 3, 8))).astype("float8_e4m3fn")
    y = rnp.asarray(RNG.integers(-3, 4, (2, 5, 8))).astype("float8_e4m3fn")
    s, t = rnp.array([1.0, 0.5]).astype("float8_e8m0fnu"), rnp.array([4.0]).astype("float8_e8m0fnu")
    out = float8.scaled_matmul(x, y, rnp.broadcast_to(s, (2, 3, 2)), rnp.broadcast_to(t, (2, 5, 1)))
    spread = np.repeat([1.0, 0.5], 4)
    wanted = np.einsum("bmk,bnk->bmn", np.asarray(x).astype("f") * spread, np.asarray(y).astype("f") * 4.0)
    assert out.dtype == "float32" and np.array_equal(out, wanted)
    with pytest.raises(TypeError, match=r"got lhs \(2, 3, 8\), rhs \(5, 8\)"):
        float8.scaled_matmul(x, y[0], s, t)
    with pytest.raises(ValueError, match=r"lhs_scales \(2, 3, 3\) has no scale for blocks of equal size"):
        float8.scaled_matmul(x, y, rnp.ones((2, 3, 3)), rnp.ones((2, 5, 1)))


@pytest.mark.needs("nn")
def test_rabbet_nn_has_the_functions():
    import rabbet.nn

    assert rabbet.nn.scaled_matmul is rabbet.nn.scaled_matmul
    assert {"scaled_matmul", "scaled_dot_general", "get_scaled_dot_general_config"} <= set(dir(rabbet.nn))
    assert rabbet.nn.get_scaled_dot_general_config("mxfp8").block_size == 32
    with pytest.raises(AttributeError, match=r"rabbet\.nn.*no attribute 'scaled_nothing'"):
        rabbet.nn.scaled_nothing  # noqa: B018
