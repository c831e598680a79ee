"""checkpoint: values and derivatives are what they were."""

import functools

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

policies = rb.checkpoint_policies
W = np.random.RandomState(0).randn(4, 4) * 0.5
X = np.random.RandomState(1).randn(4)
WS = np.random.RandomState(2).randn(3, 4, 4) * 0.5


def total(x):
    return lax.reduce_sum(x, axes=tuple(range(x.ndim)))


def matvec(w, x):
    return lax.dot_general(w, x, (((1,), (0,)), ((), ())))


def layer(w, x):
    return lax.sin(matvec(w, lax.cos(matvec(w, x))))


def loss(w, x):
    return total(layer(w, x) * x)


def in_a_loop(w, x, f=layer):
    return total(lax.scan(lambda c, w: (f(w, c), None), x, w)[0])


def in_a_branch(w, x):
    return total(lax.cond(x[0] > 0, layer, lambda w, x: lax.tanh(matvec(w, x)), w, x))


@rb.custom_jvp
def ten_times(x):
    return x


ten_times.defjvp(lambda p, t: (ten_times(*p), 10 * t[0]))


@rb.custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, x), lambda x, ct: (lax.clamp(-0.1, ct * x, 0.1),))


def with_rules_inside(w, x):
    return total(clipped(ten_times(layer(w, lax.sin(ten_times(x))))))


# --------------------------------------------------------------------------------------------------- laws
ALL = [None, policies.nothing_saveable, policies.dots_saveable, policies.everything_saveable]
FUNCTIONS = {
    "chain": (loss, W),
    "loop": (in_a_loop, WS),
    "loop_of_checkpointed": (functools.partial(in_a_loop, f=rb.checkpoint(layer)), WS),
    "branch": (in_a_branch, W),
    "rules": (with_rules_inside, W),
    "nested": (lambda w, x: total(rb.checkpoint(layer)(w, rb.checkpoint(layer)(w, x))), W),
}


@pytest.mark.parametrize("policy", ALL, ids=["none", "nothing", "dots", "everything"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_what_they_were(name, policy):
    f, w = FUNCTIONS[name]
    again = rb.checkpoint(f, policy=policy)
    for got, want in zip(rb.grad(again, (0, 1))(w, X), rb.grad(f, (0, 1))(w, X), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-6)


@pytest.mark.needs("jit")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_under_jit(name):
    f, w = FUNCTIONS[name]
    wanted = rb.grad(f)(w, X)
    again = rb.checkpoint(f, policy=policies.dots_saveable)
    np.testing.assert_allclose(rb.jit(rb.grad(again))(w, X), wanted, rtol=2e-5, atol=1e-6)
    np.testing.assert_allclose(rb.grad(rb.jit(again))(w, X), wanted, rtol=2e-5, atol=1e-6)


def test_gradients_against_finite_differences():
    with rb.enable_x64():
        slope = rb.grad(rb.checkpoint(loss), 1)(W, X)
        for i in range(4):
            step = np.eye(4)[i] * 1e-6
            rise = (float(loss(W, X + step)) - float(loss(W, X - step))) / 2e-6
            np.testing.assert_allclose(slope[i], rise, rtol=1e-6, atol=1e-9)


def test_values_and_forward_mode():
    again = rb.checkpoint(loss)
    np.testing.assert_allclose(again(W, X), loss(W, X))
    primals, tangents = (W, X), (W + 1, X - 1)
    for got, want in zip(rb.jvp(again, primals, tangents), rb.jvp(loss, primals, tangents), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)
    np.testing.assert_allclose(
        rb.linearize(again, W, X)[1](*tangents), rb.jvp(loss, primals, tangents)[1], rtol=1e-5
    )


@pytest.mark.parametrize("policy", [None, policies.dots_saveable], ids=["none", "dots"])
def test_second_derivatives(policy):
    f = lambda x: loss(W, x)
    again = rb.checkpoint(f, policy=policy)
    want = rb.hessian(f)(X)
    np.testing.assert_allclose(rb.hessian(again)(X), want, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(rb.jacrev(rb.jacrev(again))(X), want, rtol=1e-4, atol=1e-5)


def test_maps():
    xs = np.stack([X, X + 1, X - 1])
    want = np.stack([rb.grad(lambda x: loss(W, x))(x) for x in xs])
    again = rb.checkpoint(loss)
    np.testing.assert_allclose(rb.vmap(rb.grad(lambda x: again(W, x)))(xs), want, rtol=1e-5, atol=1e-6)
    mapped = lambda xs: total(rb.vmap(again, (None, 0))(W, xs))
    np.testing.assert_allclose(rb.grad(mapped)(xs), want, rtol=1e-5, atol=1e-6)


def test_several_results_integers_and_trees():
    @rb.checkpoint
    def f(p, n, *, scale):
        return {"y": lax.sin(p["x"]) * scale, "n": n + 1}

    out, pull = rb.vjp(lambda x: f({"x": x, "unused": None}, 3, scale=2.0)["y"], 1.0)
    np.testing.assert_allclose(out, 2 * np.sin(1.0), rtol=1e-6)
    np.testing.assert_allclose(pull(1.0)[0], 2 * np.cos(1.0), rtol=1e-6)
    assert f({"x": 1.0}, 3, scale=2.0)["n"] == 4


def test_static_arguments():
    def f(x, kind, *, times):
        assert isinstance(times, int)
        return (lax.sin if kind == "sin" else lax.cos)(x) * times

    g = rb.checkpoint(f, static_argnums=(1,), static_argnames="times")
    np.testing.assert_allclose(rb.grad(lambda x: g(x, "sin", times=2))(1.0), 2 * np.cos(1.0), rtol=1e-6)
    np.testing.assert_allclose(rb.grad(lambda x: g(x, "cos", times=3))(1.0), -3 * np.sin(1.0), rtol=1e-6)
    np.testing.assert_allclose(rb.grad(lambda x: g(x, kind="cos", times=1))(1.0), -np.sin(1.0), rtol=1e-6)


def test_the_function_gets_arrays_in_eager_mode_too():
    seen = []
    looking = rb.checkpoint(lambda x, flag: (seen.append(flag), 2.0 * x)[1])
    looking(1.0, True)
    assert isinstance(seen[0], rb.Array) and seen[0].dtype == bool
    static = rb.checkpoint(lambda x, flag: (seen.append(flag), 2.0 * x)[1], static_argnums=1)
    static(1.0, True)
    assert seen[1] is True
    with pytest.raises(TypeError, match="is not an array"):
        looking(1.0, "yes")


def test_it_closes_over_what_is_differentiated():
    f = lambda x: rb.checkpoint(lambda y: lax.sin(x * y))(2.0)
    np.testing.assert_allclose(rb.grad(f)(1.0), 2 * np.cos(2.0), rtol=1e-6)


def test_it_decorates_with_options():
    @functools.partial(rb.remat, prevent_cse=False)
    def f(x):
        """What it does."""
        return lax.sin(x)

    assert f.__name__ == "f" and f.__doc__ == "What it does."
    np.testing.assert_allclose(rb.grad(f)(1.0), np.cos(1.0), rtol=1e-6)
    np.testing.assert_allclose(
        rb.grad(rb.checkpoint(policy=policies.dots_saveable)(lax.sin))(1.0), np.cos(1.0)
    )


def test_the_function_is_traced_once_for_arguments_of_one_kind():
    traced = []

    @rb.checkpoint
    def f(x):
        traced.append(x.shape)
        return lax.sin(x)

    for _ in range(3):
        rb.grad(f)(1.0)
    rb.grad(lambda x: total(f(x)))(X)
    assert traced == [(), (4,)]


def test_loops_over_small_arrays_compile():
    g = rb.checkpoint(lambda w, c: lax.sin(lax.tanh(c) * w))
    f = lambda ws, x: total(lax.scan(lambda c, w: (g(w, c), None), x, ws)[0])
    ws, x = np.ones((2, 3), "f4"), np.ones(3, "f4")
    plain = lambda ws, x: total(lax.scan(lambda c, w: (lax.sin(lax.tanh(c) * w), None), x, ws)[0])
    np.testing.assert_allclose(rb.grad(f)(ws, x), rb.grad(plain)(ws, x), rtol=1e-6)


@pytest.mark.needs("jit")
@pytest.mark.parametrize("optimize", [True, False])
def test_a_forward_rule_does_not_run_where_its_residuals_are_thrown_away(optimize):
    @rb.custom_vjp
    def f(x):
        return lax.sin(x)

    def fwd(x):
        # A loop, because of simpler programs what nobody reads is left out anyway.
        both = lambda s: (s[0] + 1, lax.sin(x), lax.exp(x))
        _, out, residual = lax.while_loop(lambda s: s[0] < 1, both, (0, x, x))
        return out, residual

    f.defvjp(fwd, lambda residual, ct: (ct * residual,), optimize_remat=optimize)
    bodies = [
        lambda x: f(x) * 2,
        lambda x: rb.vmap(f)(lax.broadcast(x, (2,)))[0] * 2,
        lambda x: lax.scan(lambda c, _: (c + f(x), None), x * 0, None, length=2)[0],
    ]
    for body in bodies:
        again = rb.checkpoint(body)
        np.testing.assert_allclose(rb.grad(again)(1.0), 2 * np.exp(1.0), rtol=1e-6)
        np.testing.assert_allclose(rb.jit(rb.grad(again))(1.0), 2 * np.exp(1.0), rtol=1e-6)
        np.testing.assert_allclose(rb.grad(body)(1.0), 2 * np.exp(1.0), rtol=1e-6)
    program = rb.make_jaxpr(rb.grad(rb.checkpoint(bodies[0])))(1.0)
    forward, backward = [e for e in program.eqns if e.primitive.name == "checkpoint"]
    assert ("= exp" in str(forward.params["jaxpr"])) is not optimize
    assert "= exp" in str(backward.params["jaxpr"])


@pytest.mark.needs("jit")
def test_what_has_effects_happens_once():
    calls = []

    def noted(x):
        calls.append(float(x))
        return np.float32(x)

    @rb.checkpoint
    def f(x):
        y = rb.io_callback(noted, rb.ShapeDtypeStruct((), np.float32), lax.stop_gradient(x))
        rb.debug.callback(noted, y)
        return lax.sin(lax.sin(x * y))

    want = np.cos(np.sin(4.0)) * np.cos(4.0) * 2
    np.testing.assert_allclose(rb.grad(f)(np.float32(2.0)), want, rtol=1e-5)
    np.testing.assert_allclose(rb.jit(rb.grad(f))(np.float32(2.0)), want, rtol=1e-5)
    rb.effects_barrier()
    assert calls == [2.0] * 4


def test_collectives_in_a_checkpointed_function():
    pytest.importorskip("rabbet_collectives", reason="lax.psum is in the package rabbet-collectives")
    f = lambda x: lax.sin(lax.psum(x, "i")) * x
    mapped = lambda f: lambda x: total(rb.vmap(f, axis_name="i")(x))
    for x in (X, X[:2]):
        np.testing.assert_allclose(
            rb.grad(mapped(rb.checkpoint(f)))(x), rb.grad(mapped(f))(x), rtol=1e-5, atol=1e-6
        )
