"""custom_gradient, linear_call, closure_convert, fwd_and_bwd, and vjp's function as a pytree."""

import functools

import numpy as np
import pytest
import rabbet as rb
from rabbet import custom_derivatives, lax
from rabbet.custom_derivatives import closure_convert, linear_call

X = np.array([-1.0, 0.5, 2.0], "f4")


def total(x):
    return lax.reduce_sum(x, axes=tuple(range(x.ndim)))


def test_the_documented_names_are_there():
    for name in custom_derivatives.__all__:
        assert getattr(custom_derivatives, name).__doc__
    assert custom_derivatives.custom_jvp is rb.custom_jvp and custom_derivatives.custom_vjp is rb.custom_vjp
    assert rb.custom_derivatives is custom_derivatives and rb.closure_convert is closure_convert


# ------------------------------------------------------------------------------------------ custom_gradient
@rb.custom_gradient
def square(x):
    """Ten times its derivative."""
    return x**2, lambda ct: (10 * ct * x,)


def test_custom_gradient():
    assert square(3.0) == 9 and "Ten times" in square.__doc__
    assert rb.grad(square)(3.0) == 30
    assert rb.vmap(rb.grad(square))(X).tolist() == (10 * X).tolist()
    assert rb.grad(lambda x: total(rb.vmap(square)(x)))(X).tolist() == (10 * X).tolist()
    assert rb.grad(rb.grad(square))(3.0) == 10
    with pytest.raises(rb.errors.MissingRule, match="reverse mode only"):
        rb.jvp(square, (1.0,), (1.0,))


def test_custom_gradient_by_a_second_run():
    @rb.custom_gradient(remat=True)
    def cube(x):
        again = lambda x: (x**3, lambda ct: ct * 30 * x**2)
        return x**3, again

    assert float(cube(2.0)) == 8
    assert float(rb.grad(cube)(2.0)) == float(rb.grad(rb.checkpoint(cube))(2.0)) == 120


def test_results_that_a_map_shares():
    @rb.custom_vjp
    def f(x, y):
        return x * 2.0, x * y

    f.defvjp(
        lambda x, y: (f(x, y), (x, y)),
        lambda kept, cts: (cts[0] * 2.0 + cts[1] * kept[1], cts[1] * kept[0]),
        generic_batching=True,
    )
    mapped = rb.vmap(f, in_axes=(None, 0), out_axes=(None, 0))
    total = lambda x, ys: (lambda shared, each: shared + lax.reduce_sum(each, (0,)))(*mapped(x, ys))
    assert [x.tolist() for x in rb.grad(total, (0, 1))(3.0, np.arange(3, dtype="f4"))] == [5.0, [3.0] * 3]


def test_derivatives_by_what_each_example_has_of_a_result_that_a_map_shares():
    def made(**options):
        f = rb.custom_vjp(lambda x, y: (y * 2.0, x * y))
        back = lambda kept, cts: (cts[0] * kept[0], cts[0] * 2.0 + cts[1])
        f.defvjp(lambda x, y: (f(x, y), (x, y)), back, **options)
        return f

    f = made()
    xs, weights = np.arange(1, 4, dtype="f4"), np.array([1, 2, 4], "f4")
    total = lambda x: lax.reduce_sum(x, (0,))
    repeated = lambda xs, y: total(rb.vmap(f, in_axes=(0, None))(xs, y)[0] * weights)
    once = lambda xs, y: rb.vmap(f, in_axes=(0, None), out_axes=(None, 0))(xs, y)[0]
    assert [x.tolist() for x in rb.grad(repeated, (0, 1))(xs, 1.5)] == [[7.0, 14.0, 21.0], 14.0]
    assert [x.tolist() for x in rb.grad(once, (0, 1))(xs, 1.5)] == [[1.0, 2.0, 3.0], 2.0]
    first = lambda xs, y: rb.vmap(made(generic_batching=True), in_axes=(0, None))(xs, y)[0]
    summed = lambda xs, y: total(first(xs, y))
    assert [x.tolist() for x in rb.grad(summed, (0, 1))(xs, 1.5)] == [[3.0, 0.0, 0.0], 6.0]


@pytest.mark.needs("jit")
def test_custom_gradient_under_jit():
    assert rb.jit(square)(3.0) == 9
    assert rb.grad(rb.jit(square))(3.0) == rb.jit(rb.grad(square))(3.0) == 30
    assert rb.grad(lambda x: lax.scan(lambda c, _: (square(c), None), x, None, length=2)[0])(2.0) == 800


def test_custom_gradient_of_several_arguments_and_a_single_cotangent():
    f = rb.custom_gradient(lambda x, y: (x * y, lambda ct: (ct * 5, ct * 7)))
    assert rb.grad(f, (0, 1))(2.0, 3.0) == (5, 7)
    g = rb.custom_gradient()(lambda x: (x, lambda ct: ct * 4))
    assert rb.grad(g)(1.0) == 4


# ---------------------------------------------------------------------------------------------- linear_call
def over(x, denominator):
    """``x + x / denominator``, the division with a transpose of its own."""
    divide = lambda r, x: x / r
    return x + linear_call(divide, divide, denominator, x)


def transposed(f, example):
    return lambda y: rb.linear_transpose(f, example)(y)[0]


def sevens(x):
    """The identity, whose transpose is said to be the constant 7, so that it shows."""
    return linear_call(lambda _, x: x, lambda _, ct: 7.0, (), x)


def test_linear_call():
    assert over(9.0, 3.0) == 12
    assert transposed(functools.partial(over, denominator=3.0), 1.0)(18.0) == 24
    assert sevens(1.0) == 1 and transposed(sevens, 1.0)(1.0) == 7


def test_the_transpose_of_the_transpose_is_the_function():
    twice = transposed(transposed(sevens, 1.0), 1.0)
    assert twice(1.0) == 1 and transposed(twice, 1.0)(1.0) == 7


def test_linear_call_is_its_own_derivative():
    assert rb.jvp(sevens, (2.0,), (3.0,)) == (2, 3)
    assert rb.grad(sevens)(2.0) == 7
    assert rb.jvp(lambda x: rb.jvp(sevens, (x,), (x,))[1], (2.0,), (3.0,)) == (2, 3)
    by_residual = lambda r: linear_call(lambda r, x: x / r, lambda r, ct: ct / r, r, 4.0)
    assert rb.grad(by_residual)(2.0) == -1 and rb.grad(rb.grad(by_residual))(2.0) == 1


@pytest.mark.forbidden("enable_x64")
@pytest.mark.needs("jit")
def test_linear_call_under_maps_and_jit():
    assert rb.vmap(rb.grad(sevens))(X).tolist() == [7] * 3
    for f in (
        rb.vmap(sevens),
        rb.jit(rb.vmap(sevens)),
        rb.vmap(rb.jit(sevens)),
        rb.checkpoint(rb.vmap(sevens)),
    ):
        assert f(X).tolist() == X.tolist()
        assert rb.grad(lambda x, f=f: total(f(x)))(X).tolist() == [7] * 3
        assert rb.jit(rb.grad(lambda x, f=f: total(f(x))))(X).tolist() == [7] * 3
    both = rb.vmap(over, (0, 0))
    np.testing.assert_allclose(rb.grad(lambda x: total(both(x, X)))(X), 1 + 1 / X, rtol=1e-6)
    np.testing.assert_allclose(
        rb.grad(lambda x: total(rb.vmap(over, (None, 0))(x, X)))(2.0), 3 + np.sum(1 / X), rtol=1e-6
    )


def test_a_wrong_transpose_is_refused():
    f = lambda x: linear_call(lambda _, x: x, lambda _, ct: (ct, ct), (), x)
    with pytest.raises(TypeError, match=r"linear_call of .*linear_args"):
        rb.grad(f)(1.0)
    with pytest.raises(ValueError, match=r"linear_call of .*f32\[\]"):
        rb.grad(lambda x: linear_call(lambda _, x: x, lambda _, ct: X, (), x))(1.0)


# ------------------------------------------------------------------------------------------ closure_convert
@functools.partial(rb.custom_vjp, nondiff_argnums=(0,))
def evaluated(f, x, *consts):
    return f(x, *consts)


evaluated.defvjp(
    lambda f, x, *consts: (f(x, *consts), (x, consts)),
    lambda f, held, ct: (100 * ct, *[10 * ct * c for c in held[1]]),
)


def convert_and_call(f, x):
    converted, consts = closure_convert(f, x)
    return evaluated(converted, x, *consts)


def test_what_is_differentiated_becomes_an_argument():
    f = lambda a: convert_and_call(lambda x: x * a, 3.0)
    assert f(2.0) == 6
    assert rb.grad(f)(2.0) == 20
    assert rb.vmap(rb.grad(f))(X).tolist() == (10 * X).tolist()
    assert rb.grad(lambda x: convert_and_call(lambda y: y * 2.0, x))(1.0) == 100


def test_what_is_no_value_of_a_transformation_stays_inside():
    array = rb.device_put(X)
    converted, consts = closure_convert(lambda x: {"y": x * array}, 1.0)
    assert consts == [] and converted(2.0)["y"].tolist() == (2 * X).tolist()


def test_a_converted_function_checks_its_arguments():
    converted, _ = closure_convert(lambda x: x, X)
    with pytest.raises(TypeError, match="takes 1 arguments and the 0 values"):
        converted(X, X)
    with pytest.raises(ValueError, match=r"f32\[3\], got f32\[2\]"):
        converted(X[:2])
    with pytest.raises(TypeError, match="example arguments"):
        converted({"x": X})


# -------------------------------------------------------------------------------------- fwd_and_bwd, pytree
def loss(x, w):
    return lax.sin(x * w)


@pytest.mark.needs("jit")
@pytest.mark.parametrize("jitted", [True, False])
def test_fwd_and_bwd(jitted):
    fwd, bwd = rb.fwd_and_bwd(loss, argnums=(0, 1), jitted=jitted)
    for scale in (1.0, 2.0):
        y, residuals = fwd(X, scale)
        wanted, pull = rb.vjp(loss, X, scale)
        np.testing.assert_allclose(y, wanted, rtol=1e-6)
        for got, want in zip(bwd(residuals, X), pull(X), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.needs("jit")
def test_the_backward_pass_is_traced_once():
    traced = []

    @rb.custom_vjp
    def noted(x):
        return x

    noted.defvjp(lambda x: (x, None), lambda _, ct: (traced.append(1), (2 * ct,))[1])
    fwd, bwd = rb.fwd_and_bwd(lambda x: noted(x) * 3, argnums=0)
    for _ in range(3):
        assert bwd(fwd(2.0)[1], 1.0) == 6
    assert len(traced) == 1


@pytest.mark.needs("jit")
def test_fwd_and_bwd_with_auxiliary_results():
    fwd, bwd = rb.fwd_and_bwd(lambda x, w: (x * w, w + 1), argnums=(0,), has_aux=True)
    y, residuals, aux = fwd(2.0, 3.0)
    assert (y, aux) == (6, 4) and bwd(residuals, 1.0) == (3,)


@pytest.mark.needs("jit")
def test_the_function_that_vjp_returns_goes_through_jit():
    forward = rb.jit(lambda x: rb.vjp(lambda x: lax.sin(x) * 3, x))
    y, pull = forward(X)
    np.testing.assert_allclose(pull(np.ones(3, "f4"))[0], 3 * np.cos(X), rtol=1e-5)
    assert len(rb.tree.leaves(pull)) == 1
    twice = rb.tree.map(lambda leaf: leaf * 2, pull)
    np.testing.assert_allclose(twice(y)[0], 2 * pull(y)[0], rtol=1e-5)
