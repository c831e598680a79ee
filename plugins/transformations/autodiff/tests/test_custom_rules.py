"""custom_rules: a rule for any transformation, several on one function, wherever it is called."""

import functools

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.primitive import Batched

X = np.array([-1.0, 0.5, 2.0], "f4")


def total(x):
    return lax.reduce_sum(x, axes=tuple(range(x.ndim)))


def both_modes():
    """A function whose derivative is 100 forwards and 200 backwards, so that it shows which rule was used."""

    @rb.custom_rules
    def f(x):
        return x * 3

    @f.def_rule("jvp")
    def forwards(primals, tangents):
        return f(*primals), tangents[0] * 100

    @f.def_rule("vjp")
    def backwards(x):
        return f(x), lambda ct: (ct * 200,)

    return f


def test_without_rules_it_is_the_function():
    @rb.custom_rules
    def f(x, y=2.0):
        """What it does."""
        return lax.sin(x) * y

    assert f.__name__ == "f" and f.__doc__ == "What it does."
    np.testing.assert_allclose(f(1.0), 2 * np.sin(1.0), rtol=1e-6)
    np.testing.assert_allclose(rb.grad(f)(1.0), 2 * np.cos(1.0), rtol=1e-6)
    np.testing.assert_allclose(rb.grad(f, 1)(1.0, 3.0), np.sin(1.0), rtol=1e-6)
    np.testing.assert_allclose(rb.vmap(f)(X), 2 * np.sin(X), rtol=1e-6)


# ------------------------------------------------------------------------------------------ two modes at once
def test_each_rule_serves_its_mode():
    f = both_modes()
    assert f(1.0) == 3
    assert rb.jvp(f, (1.0,), (1.0,)) == (3, 100)
    assert rb.jacfwd(f)(1.0) == 100
    assert rb.grad(f)(1.0) == rb.vjp(f, 1.0)[1](1.0)[0] == rb.jacrev(f)(1.0) == 200
    assert rb.linearize(f, 1.0)[1](1.0) == 100


def test_each_rule_serves_its_mode_under_maps():
    f = both_modes()
    assert rb.vmap(rb.grad(f))(X).tolist() == [200] * 3
    assert rb.grad(lambda x: total(rb.vmap(f)(x)))(X).tolist() == [200] * 3
    assert rb.jvp(rb.vmap(f), (X,), (X,))[1].tolist() == (100 * X).tolist()


@pytest.mark.needs("jit")
def test_each_rule_serves_its_mode_under_jit_and_in_bodies():
    f = both_modes()
    bodies = [
        rb.jit(f),
        rb.checkpoint(f),
        lambda x: lax.cond(x > 0, f, f, x),
        lambda x: lax.fori_loop(0, 1, lambda i, c: f(c), x),
        lambda x: rb.vmap(rb.jit(f))(lax.broadcast(x, (1,)))[0],
    ]
    for body in bodies:
        assert rb.grad(body)(1.0) == rb.jit(rb.grad(body))(1.0) == 200
        assert rb.jvp(body, (1.0,), (1.0,)) == (3, 100)
        assert rb.jit(lambda x, body=body: rb.jvp(body, (x,), (1.0,))[1])(1.0) == 100
        assert rb.linearize(body, 1.0)[1](1.0) == 100


def test_higher_orders_differentiate_the_rules():
    @rb.custom_rules
    def cube(x):
        return x * x * x

    cube.def_rule("jvp", lambda p, t: (cube(*p), 3 * p[0] * p[0] * t[0]))
    cube.def_rule("vjp", lambda x: (cube(x), lambda ct: (3 * x * x * ct,)))
    for second in (
        rb.grad(rb.grad(cube)),
        rb.hessian(cube),
        rb.jacfwd(rb.jacfwd(cube)),
        rb.jacrev(rb.jacrev(cube)),
    ):
        np.testing.assert_allclose(second(2.0), 12, rtol=1e-6)
    np.testing.assert_allclose(rb.grad(rb.grad(rb.grad(cube)))(2.0), 6, rtol=1e-6)


# -------------------------------------------------------------------------------------- vjp, by closure
def test_a_vjp_rule_closes_over_its_residuals():
    @rb.custom_rules
    def f(p, n):
        return {"y": lax.sin(p["x"]) * n}

    @f.def_rule("vjp")
    def f_vjp(p, n):
        slope = lax.cos(p["x"])
        return f(p, n), lambda ct: ({"x": 10 * ct["y"] * slope * n}, None)

    g = lambda x: f({"x": x}, 2)["y"]
    np.testing.assert_allclose(rb.grad(g)(1.0), 20 * np.cos(1.0), rtol=1e-6)
    np.testing.assert_allclose(rb.vmap(rb.grad(g))(X), 20 * np.cos(X), rtol=1e-6)
    np.testing.assert_allclose(rb.grad(lambda x: total(rb.vmap(g)(x)))(X), 20 * np.cos(X), rtol=1e-6)
    np.testing.assert_allclose(rb.grad(rb.grad(g))(1.0), -20 * np.sin(1.0), rtol=1e-6)


def test_static_arguments():
    @functools.partial(rb.custom_rules, nondiff_argnums=(1,))
    def f(x, kind):
        return lax.sin(x) if kind == "sin" else lax.cos(x)

    @f.def_rule("jvp")
    def f_jvp(kind, primals, tangents):
        assert kind in ("sin", "cos")
        return f(*primals, kind), tangents[0] * len(kind)

    assert rb.grad(lambda x: f(x, "sin"))(1.0) == 3


# ----------------------------------------------------------------------------------------- other tables
def test_a_rule_for_batch_takes_payloads():
    seen = []

    @rb.custom_rules
    def f(x, y):
        return x * y, x

    @f.def_rule("batch")
    def f_batch(x, y):
        seen.append((x.axis, y.axis))
        return Batched(lax.full_like(x.value, 7.0), x.axis), lax.full_like(y.value, 8.0)

    outs = rb.vmap(f, (0, None), out_axes=(0, None))(X, 3.0)
    assert outs[0].tolist() == [7, 7, 7] and outs[1] == 8
    assert seen == [(0, None)]
    assert f(2.0, 3.0) == (6, 2)
    np.testing.assert_allclose(rb.grad(lambda x: f(x, 3.0)[0])(2.0), 3)


@pytest.mark.forbidden("enable_x64")
@pytest.mark.needs("jit")
def test_a_rule_for_batch_holds_in_bodies_and_under_forward_mode():
    @rb.custom_rules
    def f(x):
        return x * 2

    @f.def_rule("batch")
    def f_batch(x):
        return Batched(x.value * x.value, x.axis)

    for body in (f, rb.jit(f), rb.checkpoint(f), lambda x: lax.cond(True, f, f, x)):
        assert rb.vmap(body)(X).tolist() == (X * X).tolist()
        out, tangent = rb.vmap(lambda x, b=body: rb.jvp(b, (x,), (1.0,)))(X)
        assert out.tolist() == (X * X).tolist() and tangent.tolist() == (2 * X).tolist()
    assert rb.vmap(rb.vmap(f))(X[None]).tolist() == [(X * X).tolist()]


# --------------------------------------------------------------------------------------------- messages
@pytest.mark.parametrize(
    ("make", "error", "parts"),
    [
        (lambda f: f.def_rule(lax.sin), TypeError, ("name of a rule table", "sin")),
        (lambda f: f.def_rule("jvp", 3), TypeError, ("def_rule('jvp') of", "takes a function", "3")),
        (lambda f: rb.custom_rules(3), TypeError, ("custom_rules takes a function", "int")),
        (
            lambda f: [f.def_rule("jvp", lambda p, t: None) for _ in range(2)],
            rb.errors.RuleConflict,
            ("already has a 'jvp' rule at", "test_custom_rules.py", "Keep one"),
        ),
        (
            lambda f: (f.def_rule("vjp", lambda x: x), rb.grad(f)(1.0)),
            TypeError,
            ("the vjp rule of", "must return a pair (output, pull)"),
        ),
        (
            lambda f: (f.def_rule("vjp", lambda x: (x, x)), rb.grad(f)(1.0)),
            TypeError,
            ("of which pull is a function",),
        ),
        (
            lambda f: (f.def_rule("vjp", lambda x: (x, lambda ct: ct)), rb.grad(f)(1.0)),
            TypeError,
            ("must return a tuple with 1 cotangents",),
        ),
    ],
    ids=range(7),
)
def test_messages(make, error, parts):
    @rb.custom_rules
    def f(x):
        return x

    with pytest.raises(error) as caught:
        make(f)
    for part in parts:
        assert part in str(caught.value)


def test_static_arguments_that_do_not_exist():
    f = rb.custom_rules(lambda x: x, nondiff_argnames=("mode",))
    with pytest.raises(ValueError, match=r"no arguments \['mode'\]"):
        rb.grad(f)(1.0)
