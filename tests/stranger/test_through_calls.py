"""A third party's ``enclose`` goes through everything that carries a program, with no line for it."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet_enclose import Box

LO, HI = np.float32([-1.0, 0.25, 0.5]), np.float32([-0.5, 0.75, 2.0])


@rb.custom_jvp
def softplus(x):
    return rnp.log(1.0 + rnp.exp(x))


softplus.defjvp(lambda p, t: (softplus(*p), t[0] * (1.0 - rnp.exp(-softplus(*p)))))


@rb.custom_vjp
def scaled(x):
    return x * 3.0


scaled.defvjp(lambda x: (scaled(x), None), lambda _, ct: (ct * 3.0,))


def step(x):
    return rnp.exp(x) * x - x * 0.5


FUNCTIONS = {
    "jit": lambda x: rb.jit(step)(x),
    "checkpoint": lambda x: rb.checkpoint(step)(x),
    "checkpoint of jit": lambda x: rb.checkpoint(lambda y: rb.jit(step)(y) + y)(x),
    "custom_jvp": lambda x: softplus(x) * x,
    "custom_vjp": lambda x: scaled(x) + x,
    "custom_rules": lambda x: rb.custom_rules(step)(x),
    "cond": lambda x: lax.cond(True, step, lambda y: -y, x),
    "switch": lambda x: lax.switch(1, [lambda y: y, step, lambda y: -y], x),
    "scan": lambda x: lax.scan(lambda c, w: (c * w + x, None), x, np.float32([0.5, 0.25]))[0],
    "scan of checkpoint": lambda x: lax.scan(
        lambda c, w: (rb.checkpoint(lambda c: softplus(c) * w + x)(c), None), x, np.float32([0.5, 0.25])
    )[0],
    "fori_loop": lambda x: lax.fori_loop(0, 3, lambda i, c: c * 0.5 + x, x),
    "while_loop": lambda x: lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 0.5 + x), (0, x))[
        1
    ],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_box_contains_sampled_values(name):
    fn = FUNCTIONS[name]
    samples = np.random.RandomState(0).uniform(LO, HI, (20, 3)).astype(np.float32)
    values = np.stack([np.asarray(fn(rnp.array(x))) for x in samples])
    slack = 1e-5 * (1 + np.abs(values))
    for box in (
        rb.enclose(fn)((LO, HI)),
        rb.jit(rb.enclose(fn))(Box(LO, HI)),
        rb.enclose(rb.jit(fn))((LO, HI)),
    ):
        assert np.all(np.asarray(box.lo) <= values + slack)
        assert np.all(values - slack <= np.asarray(box.hi))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_bounds_go_through_it(name):
    if name == "while_loop":
        pytest.skip("reverse mode cannot go through a while_loop")
    fn = FUNCTIONS[name]
    upper = lambda x: rnp.sum(rb.enclose(fn)((x, x + 0.25)).hi)
    x = rnp.array(LO)
    gradient, rise = rb.grad(upper)(x), []
    for i in range(3):
        e = rnp.array(np.eye(3, dtype=np.float32)[i] * 1e-2)
        rise.append(float(upper(x + e) - upper(x - e)) / 2e-2)
    np.testing.assert_allclose(gradient, rise, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("name", ["checkpoint", "custom_jvp", "custom_vjp", "scan of checkpoint"])
def test_enclose_of_a_gradient_contains_the_gradients(name):
    fn = FUNCTIONS[name]
    slope = rb.grad(lambda x: fn(x))
    box = rb.enclose(slope)((np.float32(0.25), np.float32(0.75)))
    values = np.array([slope(x) for x in np.float32([0.25, 0.4, 0.6, 0.75])])
    assert np.all(np.asarray(box.lo) <= values + 1e-4) and np.all(values - 1e-4 <= np.asarray(box.hi))


def test_a_function_with_a_rule_for_enclose():
    @rb.custom_rules
    def wave(x):
        return rnp.sin(x) * x

    with pytest.raises(rb.errors.MissingRule, match="'sin'"):
        rb.enclose(wave)((0.0, 1.0))

    @wave.def_rule("enclose")
    def wave_enclosed(box):
        most = rnp.maximum(abs(box.lo), abs(box.hi))
        return Box(-most, most)

    for fn in (wave, rb.jit(wave), rb.checkpoint(wave), lambda x: lax.cond(True, wave, lambda y: y, x)):
        assert [float(v) for v in rb.enclose(fn)((-2.0, 3.0))] == [-3.0, 3.0]
    np.testing.assert_allclose(rb.grad(wave)(1.0), np.cos(1.0) + np.sin(1.0), rtol=1e-6)


def test_a_decision_by_a_box_is_refused_with_the_line():
    def fn(x):
        return lax.switch(x, [lambda y: y, lambda y: -y], x)

    with pytest.raises(TypeError, match=r"'cond' is decided by a value(.|\n)*test_through_calls.py"):
        rb.enclose(fn)((np.int32(0), np.int32(1)))
