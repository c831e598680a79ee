"""Products in a smaller dtype: values against rounding by hand, under every transformation."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

rnp = pytest.importorskip("rabbet.numpy")
pytestmark = pytest.mark.needs("cpu", "jit", "grad", "vmap", "numpy")

from rabbet_autocast import autocast, loss_scaling, lowered  # noqa: E402

X = rnp.asarray(np.random.default_rng(0).normal(size=(3, 4)), "float32")
W = rnp.asarray(np.random.default_rng(1).normal(size=(4, 4)), "float32")


def small(x, dtype="bfloat16"):
    return x.astype(dtype).astype("float32")


def by_hand(x, w):
    return small(x) @ small(w)


PROGRAMS = {
    "plain": lambda dot, w, x: rnp.tanh(dot(x, w)),
    "loop": lambda dot, w, x: lax.scan(lambda c, _: (rnp.sin(dot(c, w)), None), x, None, length=3)[0],
    "branch": lambda dot, w, x: lax.cond(x.sum() > 0, lambda x: dot(x, w), lambda x: dot(x, 2 * w), x),
    "while": lambda dot, w, x: lax.while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, dot(c[1], w)), (0, x))[
        1
    ],
    "call": lambda dot, w, x: rb.jit(lambda x: dot(x, w))(x),
    "checkpoint": lambda dot, w, x: rb.checkpoint(lambda x: rnp.sin(dot(x, w)))(x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_products_are_rounded_wherever_they_stand(name):
    program = PROGRAMS[name]
    cast = autocast(lambda w, x: program(lambda a, b: a @ b, w, x))
    wanted = program(by_hand, W, X)
    for f in (cast, rb.jit(cast)):
        out = f(W, X)
        assert out.dtype == "float32"
        np.testing.assert_allclose(out, wanted, rtol=2e-6, atol=2e-6)
    exact = program(lambda a, b: a @ b, W, X)
    assert np.abs(np.asarray(exact) - np.asarray(wanted)).max() > 1e-4  # the dtype does round


@pytest.mark.parametrize("name", ["plain", "loop", "call"])
def test_derivatives_are_those_of_the_rounded_function(name):
    program = PROGRAMS[name]
    cast = autocast(lambda w: program(lambda a, b: a @ b, w, X).sum())
    wanted = rb.grad(lambda w: program(by_hand, w, X).sum())(W)
    np.testing.assert_allclose(rb.jit(rb.grad(cast))(W), wanted, rtol=2e-2, atol=2e-2)
    both = autocast(rb.grad(lambda w: program(lambda a, b: a @ b, w, X).sum()))
    text = str(rb.make_jaxpr(both)(W))
    assert both(W).dtype == "float32" and text.count("dot_general") == text.count(
        "preferred_element_type=float32"
    )
    np.testing.assert_allclose(both(W), wanted, rtol=3e-2, atol=3e-2)


def test_functions_keep_their_derivative_rules():
    @rb.custom_jvp
    def forward(x):
        return x * x

    forward.defjvp(lambda primals, tangents: (forward(*primals), 7 * tangents[0]))

    @rb.custom_vjp
    def backward(x):
        return x * x

    backward.defvjp(lambda x: (backward(x), None), lambda _, ct: (7 * ct,))
    for f in (forward, backward, rb.jit(forward), rb.jit(backward)):
        assert float(rb.grad(autocast(f))(1.0)) == 7.0 == float(rb.jit(rb.grad(autocast(f)))(1.0))
        assert float(autocast(rb.grad(f))(1.0)) == 7.0


def test_under_vmap_and_of_float16():
    f = autocast(lambda w, x: x @ w, dtype="float16")
    out = rb.vmap(f, (None, 0))(W, X)
    np.testing.assert_allclose(out, small(X, "float16") @ small(W, "float16"), rtol=1e-5)
    decorated = autocast(dtype="float16")(lambda w, x: x @ w)
    assert (decorated(W, x=X) == f(W, X)).all()


@pytest.mark.forbidden("explicit_x64_dtypes")
def test_what_is_no_float32_stays_as_it_is():
    whole = rnp.arange(4).reshape(2, 2)
    assert (autocast(lambda x: x @ x)(whole) == whole @ whole).all()
    wide = lax.full((2, 2), 1.001, "float64")
    assert autocast(lambda x: lax.dot_general(x, x, (((1,), (0,)), ((), ()))))(wide)[0, 0] == 2 * 1.001**2


@pytest.mark.narrow
def test_convolutions_have_a_rule():
    lax_conv = pytest.importorskip("rabbet_convolution") and lax.conv
    x, k = rnp.ones((1, 1, 4, 4)) * 1.001, rnp.ones((1, 1, 2, 2)) * 1.001
    out = autocast(lambda x, k: lax_conv(x, k, (1, 1), "VALID"))(x, k)
    assert out.dtype == "float32" and out[0, 0, 0, 0] == 4.0


def test_a_strangers_primitive_brings_its_own_rule():
    from rabbet.extend.primitive import Primitive

    p = Primitive("squares_of_test_autocast", lambda x: x, kinds=("elementwise",))
    p.decompose(lambda op, x: lax.mul(x, x))
    p.rule("autocast")(lambda op, x: lax.convert_element_type(op(lowered(x)), x.dtype))
    assert float(autocast(p)(np.float32(1.001))) == 1.0 != float(p(np.float32(1.001)))


@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
def test_other_dtypes_are_refused(dtype):
    with pytest.raises(TypeError, match="fewer bits than float32"):
        autocast(lambda x: x, dtype=dtype)


def descent(rate=0.5):
    return lambda params: (), lambda g, state, params=None: (rb.tree.map(lambda x: -rate * x, g), state)


@pytest.mark.forbidden("debug_nans")
def test_loss_scaling_leaves_bad_steps_out_and_grows_after_good_ones():
    init, update = loss_scaling(descent(), initial=8.0, period=2)
    state = init({"w": W})
    good = {"w": rnp.ones(2) * 8.0}
    updates, state = rb.jit(update)(good, state)
    assert updates["w"].tolist() == [-0.5, -0.5] and float(state.scale) == 8.0
    updates, state = update({"w": rnp.array([rnp.nan, 1.0])}, state)
    assert updates["w"].tolist() == [0.0, 0.0] and float(state.scale) == 4.0 and int(state.good_steps) == 0
    for _ in range(2):
        _, state = update(good, state)
    assert float(state.scale) == 8.0 and int(state.good_steps) == 0
    with pytest.raises(ValueError, match="factor"):
        loss_scaling(descent(), factor=1.0)
