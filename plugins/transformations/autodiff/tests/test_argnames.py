"""grad and its kin with respect to arguments by name."""

import numpy as np
import pytest
import rabbet as rb

pytestmark = pytest.mark.needs("numpy")  # the methods of arrays
X = np.array([1.0, 2.0, 3.0], "f4")


def loss(x, *, scale, shift=0.0):
    return ((x * scale + shift) ** 2).sum()


@pytest.fixture(params=["keyword", "position"])
def call(request):
    """A call of a function of ``x`` and ``w``, with ``w`` by keyword or by position."""
    return (lambda f: f(X, w=X + 1)) if request.param == "keyword" else (lambda f: f(X, X + 1))


def product(x, w):
    return (x * w**2).sum()


def test_grad_by_a_keyword_argument():
    got = rb.grad(loss, argnames="scale")(X, scale=np.float32(2.0))
    np.testing.assert_allclose(got, (2 * X * X * 2.0).sum(), rtol=1e-6)


def test_grad_by_name_however_it_is_passed(call):
    np.testing.assert_allclose(call(rb.grad(product, argnames="w")), 2 * X * (X + 1), rtol=1e-6)


def test_several_names_give_a_tuple_in_their_order(call):
    value, (by_w, by_x) = call(rb.value_and_grad(product, argnames=("w", "x")))
    np.testing.assert_allclose(value, (X * (X + 1) ** 2).sum(), rtol=1e-6)
    np.testing.assert_allclose(by_w, 2 * X * (X + 1), rtol=1e-6)
    np.testing.assert_allclose(by_x, (X + 1) ** 2, rtol=1e-6)


def test_one_name_in_a_sequence_gives_a_tuple():
    assert isinstance(rb.grad(product, argnames=["w"])(X, w=X), tuple)


@pytest.mark.parametrize("which", ["jacfwd", "jacrev"])
def test_jacobians(which, call):
    got = call(getattr(rb, which)(lambda x, w: x * w**2, argnames="w"))
    np.testing.assert_allclose(got, np.diag(2 * X * (X + 1)), rtol=1e-6)


def test_hessian(call):
    np.testing.assert_allclose(call(rb.hessian(product, argnames="w")), np.diag(2 * X), rtol=1e-6)
    blocks = call(rb.hessian(product, argnames=("x", "w")))
    np.testing.assert_allclose(blocks[0][1], np.diag(2 * (X + 1)), rtol=1e-6)


def test_auxiliary_results_and_pytrees():
    def with_aux(*, params):
        return (params["a"] * params["b"]).sum(), "more"

    gradient, aux = rb.grad(with_aux, argnames="params", has_aux=True)(params={"a": X, "b": X + 1})
    assert aux == "more"
    np.testing.assert_allclose(gradient["a"], X + 1)


@pytest.mark.needs("jit")
def test_in_a_compiled_program():
    got = rb.jit(rb.grad(loss, argnames="shift"))(X, scale=2.0, shift=1.0)
    np.testing.assert_allclose(got, (2 * (2 * X + 1)).sum(), rtol=1e-6)


def message(call, error=TypeError):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def test_a_name_that_the_call_does_not_have():
    text = message(lambda: rb.grad(loss, argnames="scal")(X, scale=2.0))
    assert "argument 'scal'" in text and "'x', 'scale'" in text and "loss" in text
    # A default is not an argument of the call.
    assert "'shift'" in message(lambda: rb.grad(loss, argnames="shift")(X, scale=2.0))


def test_both_ways_of_choosing():
    assert "not both" in message(lambda: rb.grad(loss, 1, argnames="scale"))
    assert "not both" in message(lambda: rb.hessian(loss, (0,), argnames="scale"))


def test_names_are_names():
    assert "argnames must be" in message(lambda: rb.grad(loss, argnames=1))
    assert "twice" in message(lambda: rb.jacrev(loss, argnames=("x", "x")), ValueError)


def test_an_argument_that_has_no_derivative_is_named():
    assert "argument 'scale'" in message(lambda: rb.grad(loss, argnames="scale")(X, scale=2))
    assert "argument 'scale'" in message(lambda: rb.grad(loss, argnames="scale")(X, scale="fast"))


def test_argnums_out_of_range_names_argnames():
    assert "argnames" in message(lambda: rb.grad(loss, 1)(X, scale=2.0))
