"""custom_jvp: the author's derivative is used in every mode, at every level, and nothing else changes."""

import collections
import functools

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

X = np.array([-1.0, 0.5, 2.0], "f4")
Pair = collections.namedtuple("Pair", "a b")


def total(x):
    return lax.reduce_sum(x, axes=(0,))


@rb.custom_jvp
def triple(x):
    """A function with a wrong derivative, so that its use shows."""
    return x * 3


@triple.defjvp
def triple_jvp(primals, tangents):
    (x,), (t,) = primals, tangents
    return triple(x), t * 100 * x


@rb.custom_jvp
def product(x, y):
    return {"out": x * y, "none": None}


@product.defjvp
def product_jvp(primals, tangents):
    (x, y), (s, t) = primals, tangents
    return product(x, y), {"out": 10 * (s * y + x * t), "none": None}


# --------------------------------------------------------------------------------------------------- laws
def test_the_value_is_the_functions():
    assert triple(2.0) == 6
    assert triple.__name__ == "triple" and "wrong derivative" in triple.__doc__
    assert rb.vmap(triple)(X).tolist() == (3 * X).tolist()


def test_the_derivative_is_the_rules():
    assert rb.grad(triple)(2.0) == 200
    assert rb.jvp(triple, (2.0,), (1.0,)) == (6, 200)
    assert rb.linearize(triple, 2.0)[1](1.0) == 200
    assert rb.jacfwd(triple)(2.0) == rb.jacrev(triple)(2.0) == 200
    assert rb.vjp(triple, 2.0)[1](1.0) == (200,)


def test_higher_orders_differentiate_the_rule():
    assert rb.grad(rb.grad(triple))(2.0) == 100
    # (f x)' = f' x + f = 100 x^2 + f by the rule; once more: 200 x + f' = 200 x + 100 x.
    assert rb.grad(rb.grad(lambda x: triple(x) * x))(2.0) == 600
    assert rb.hessian(triple)(2.0) == 100
    assert rb.jvp(rb.grad(triple), (2.0,), (1.0,))[1] == 100
    assert rb.grad(lambda x: rb.jvp(triple, (x,), (1.0,))[1])(2.0) == 100


def test_maps():
    np.testing.assert_allclose(rb.vmap(rb.grad(triple))(X), 100 * X)
    np.testing.assert_allclose(rb.grad(lambda x: total(rb.vmap(triple)(x)))(X), 100 * X)
    np.testing.assert_allclose(rb.vmap(rb.vmap(rb.grad(triple)))(np.stack([X, X]))[1], 100 * X)
    np.testing.assert_allclose(
        rb.grad(lambda x: total(total(rb.vmap(rb.vmap(triple))(x))))(np.stack([X, X]))[0], 100 * X
    )
    np.testing.assert_allclose(rb.jvp(rb.vmap(triple), (X,), (X,))[1], 100 * X * X)
    np.testing.assert_allclose(rb.vmap(rb.grad(rb.grad(triple)))(X), [100] * 3)
    np.testing.assert_allclose(rb.grad(lambda x: total(rb.vmap(rb.grad(triple))(x)))(X), [100] * 3)


@pytest.mark.needs("jit")
@pytest.mark.parametrize(
    "f",
    [
        lambda x: rb.jit(rb.grad(triple))(x),
        lambda x: rb.grad(rb.jit(triple))(x),
        lambda x: rb.jit(rb.grad(rb.jit(triple)))(x),
        lambda x: rb.jvp(rb.jit(triple), (x,), (1.0,))[1],
        lambda x: rb.jit(lambda x: rb.jvp(triple, (x,), (1.0,))[1])(x),
        lambda x: rb.grad(rb.jit(rb.jit(triple)))(x),
        lambda x: rb.vmap(rb.grad(rb.jit(triple)))(lax.broadcast(x, (2,)))[0],
        lambda x: rb.jit(rb.vmap(rb.grad(triple)))(lax.broadcast(x, (2,)))[0],
        lambda x: rb.grad(lambda xs: total(rb.jit(rb.vmap(triple))(xs)))(lax.broadcast(x, (2,)))[0],
        lambda x: rb.grad(lambda xs: total(rb.vmap(rb.jit(triple))(xs)))(lax.broadcast(x, (2,)))[0],
        lambda x: rb.jit(rb.grad(lambda xs: total(rb.vmap(rb.jit(triple))(xs))))(lax.broadcast(x, (2,)))[0],
        lambda x: rb.linearize(rb.jit(triple), x)[1](1.0),
    ],
    ids=range(12),
)
def test_under_jit(f):
    from rabbet.extend.passes import check

    assert f(2.0) == 200
    check(rb.make_jaxpr(f)(2.0))
    assert rb.grad(f)(2.0) == 100
    check(rb.make_jaxpr(rb.grad(f))(2.0))


@pytest.mark.needs("jit")
def test_values_under_jit():
    assert rb.jit(triple)(2.0) == 6
    assert rb.jit(rb.vmap(rb.jit(triple)))(X).tolist() == (3 * X).tolist()


@pytest.mark.needs("jit")
def test_outputs_that_a_map_does_not_touch_stay_so():
    @rb.custom_jvp
    def f(x, y):
        return x * y, y * 2

    @f.defjvp
    def rule(primals, tangents):
        (x, y), (s, t) = primals, tangents
        return f(x, y), (10 * (s * y + x * t), 20 * t)

    mapped = rb.vmap(f, (0, None), out_axes=(0, None))
    for g in (mapped, rb.jit(mapped), rb.jit(rb.vmap(rb.jit(f), (0, None), out_axes=(0, None)))):
        outs, alone = g(X, 2.0)
        np.testing.assert_allclose(outs, 2 * X)
        assert alone == 4
        assert rb.grad(lambda y, g=g: g(X, y)[1])(2.0) == 20
        np.testing.assert_allclose(
            rb.grad(lambda y, g=g: total(g(X, y)[0]) + g(X, y)[1])(2.0), 10 * X.sum() + 20
        )
    assert rb.jit(mapped)(X[:0], 2.0)[0].shape == (0,)


# --------------------------------------------------------------------------------------------- signatures
def test_several_arguments_and_trees():
    f = lambda x, y: product(x, y)["out"]
    assert f(2.0, 3.0) == 6
    assert rb.grad(f, (0, 1))(2.0, 3.0) == (30, 20)
    assert rb.grad(f)(2.0, 3.0) == 30
    assert rb.grad(lambda x: f(x, x))(3.0) == 60
    np.testing.assert_allclose(rb.vmap(rb.grad(f), (0, None))(X, 3.0), [30] * 3)
    np.testing.assert_allclose(rb.vmap(rb.grad(f), (None, 0))(2.0, X), 10 * X)
    np.testing.assert_allclose(rb.grad(lambda y: total(rb.vmap(f, (0, None))(X, y)))(3.0), 10 * X.sum())


@pytest.mark.needs("jit")
def test_numbers_beside_arrays_give_way_in_rules_too():
    f = lambda x, y: product(x, y)["out"]
    x = np.float32(2)
    with rb.config.override(enable_x64=True):
        for g in (rb.grad(lambda x: f(x, 3.0)), lambda x: rb.jit(rb.grad(f))(x, 3.0)):
            assert (g(x), g(x).dtype) == (30, np.float32)
        assert rb.vmap(rb.grad(f), (0, None))(X, 3.0).tolist() == [30] * 3
        assert rb.grad(lambda y: total(rb.vmap(f, (0, None))(X, y)))(3.0) == 10 * X.sum()


def test_trees_of_arguments():
    @rb.custom_jvp
    def f(p):
        return Pair(p["x"], p["y"][0])

    @f.defjvp
    def rule(primals, tangents):
        ((p,), (t,)) = primals, tangents
        return f(p), Pair(7 * t["x"], 8 * t["y"][0])

    g = rb.grad(lambda p: f(p).a + f(p).b)({"x": 1.0, "y": [2.0, 3.0]})
    assert g == {"x": 7.0, "y": [8.0, 0.0]}


def test_keyword_arguments_and_defaults():
    @rb.custom_jvp
    def f(x, y=3.0):
        return x * y

    f.defjvp(lambda primals, tangents: (f(*primals), 5 * tangents[0] + 7 * tangents[1]))
    assert f(2.0) == f(x=2.0) == 6 and f(2.0, y=4.0) == 8
    assert rb.grad(f)(2.0) == 5
    assert rb.grad(lambda y: f(y=y, x=1.0))(2.0) == 7


def test_static_arguments():
    @functools.partial(rb.custom_jvp, nondiff_argnums=(0, 2))
    def apply(f, x, mode):
        return f(x) if mode == "plain" else x

    @apply.defjvp
    def rule(f, mode, primals, tangents):
        (x,), (t,) = primals, tangents
        return apply(f, x, mode), t * (50 if mode == "plain" else 60)

    assert apply(lax.sin, 0.0, "plain") == 0
    assert rb.grad(lambda x: apply(lax.sin, x, "plain"))(1.0) == 50
    assert rb.grad(lambda x: apply(lax.sin, x, "other"))(1.0) == 60
    assert rb.grad(apply, 1)(lax.sin, 1.0, "plain") == 50
    np.testing.assert_array_equal(rb.vmap(rb.grad(lambda x: apply(lax.cos, x, "plain")))(X), [50] * 3)


@functools.partial(rb.custom_jvp, nondiff_argnums=(1,))
def scaled(x, by):
    return x * by


scaled.defjvp(lambda by, primals, tangents: (scaled(*primals, by), tangents[0] * by * 10))

WAYS = {
    "grad": lambda f: rb.grad(f),
    "jit of grad": lambda f: rb.jit(rb.grad(f)),
    "grad of jit": lambda f: rb.grad(rb.jit(f)),
    "cond": lambda f: rb.grad(lambda x, by: lax.cond(x > 0, f, lambda x, by: x, x, by)),
    "switch": lambda f: rb.jit(rb.grad(lambda x, by: lax.switch(1, [lambda x, by: x, f], x, by))),
    "scan": lambda f: rb.grad(lambda x, by: lax.scan(lambda c, y: (f(c, y), 0.0), x, by[None])[0]),
    "checkpoint": lambda f: rb.grad(rb.checkpoint(f)),
    "vmap of grad": lambda f: lambda x, by: rb.vmap(rb.grad(f), (None, 0))(x, by[None])[0],
    "grad of vmap": lambda f: rb.grad(lambda x, by: rb.vmap(f)(x[None], by[None])[0]),
    "grad of jit of vmap": lambda f: rb.grad(lambda x, by: rb.jit(rb.vmap(f))(x[None], by[None])[0]),
}


@pytest.mark.needs("jit")
@pytest.mark.parametrize("way", WAYS)
def test_static_arguments_that_are_traced_reach_the_rule(way):
    assert WAYS[way](scaled)(lax.full((), 2.0), lax.full((), 3.0)) == 30


@pytest.mark.needs("jit")
def test_static_arguments_may_hold_traced_values_beside_others():
    @functools.partial(rb.custom_jvp, nondiff_argnums=(0,))
    def f(options, x):
        return x * options["by"] if options["mode"] is rule else x

    def rule(options, primals, tangents):
        return f(options, *primals), tangents[0] * options["by"] * (10 if options["mode"] is rule else 0)

    f.defjvp(rule)
    inner = lambda x, by: rb.jit(lambda x, by: f({"mode": rule, "by": by}, x))(x, by)
    assert rb.grad(inner)(2.0, 3.0) == 30


@pytest.mark.needs("jit")
def test_a_static_argument_that_is_differentiated_is_refused():
    for way in (rb.grad(scaled, 1), rb.grad(rb.jit(scaled), 1), rb.jit(rb.grad(scaled, (0, 1)))):
        with pytest.raises(TypeError, match=r"scaled \(.*differentiated by 'by', .* among its nondiff"):
            way(2.0, 3.0)


def test_static_arguments_by_name():
    @functools.partial(rb.custom_jvp, nondiff_argnames=("mode",))
    def f(x, mode):
        return x

    f.defjvp(lambda mode, primals, tangents: (f(*primals, mode), tangents[0] * len(mode)))
    assert rb.grad(lambda x: f(x, mode="four"))(1.0) == 4


def test_integer_arguments():
    @rb.custom_jvp
    def f(x, n):
        return x * n, n + 1

    @f.defjvp
    def rule(primals, tangents):
        (x, n), (t, tn) = primals, tangents
        assert tn.dtype == rb.dtypes.float0
        out = f(x, n)
        return out, (t * n * 2, np.zeros(np.shape(out[1]), rb.dtypes.float0))

    assert rb.grad(lambda x, n: f(x, n)[0])(2.0, 3) == 6
    ns = np.arange(3)
    np.testing.assert_array_equal(rb.vmap(rb.grad(lambda x, n: f(x, n)[0]))(X, ns), [0, 2, 4])
    np.testing.assert_array_equal(rb.grad(lambda x: total(rb.vmap(f)(x, ns)[0]))(X), [0, 2, 4])
    if "jit" in dir(rb):
        np.testing.assert_array_equal(
            rb.jit(rb.vmap(rb.grad(rb.jit(lambda x, n: f(x, n)[0]))))(X, ns), [0, 2, 4]
        )


def test_defjvps():
    @rb.custom_jvp
    def f(x, y):
        return x * y

    f.defjvps(lambda t, out, x, y: 2 * t * y, lambda t, out, x, y: 3 * t * x + 0 * out)
    assert rb.grad(f, (0, 1))(5.0, 7.0) == (14, 15)
    f.defjvps(None, lambda t, out, x, y: t)
    assert rb.grad(f, (0, 1))(5.0, 7.0) == (0, 1)


def test_methods():
    class Model:
        @functools.partial(rb.custom_jvp, nondiff_argnums=(0,))
        def f(self, x):
            return x

        @f.defjvp
        def f_jvp(self, primals, tangents):
            return primals[0], tangents[0] * self.slope

        slope = 9.0

    assert rb.grad(Model().f)(1.0) == 9


# ------------------------------------------------------------------------------------------ python values
def test_the_function_and_its_rule_may_branch_on_values():
    @rb.custom_jvp
    def f(x):
        return x if x > 0 else -x

    @f.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        return f(x), t * (10.0 if x > 0 else 20.0)

    assert f(-2.0) == 2
    assert rb.grad(f)(2.0) == 10 and rb.grad(f)(-2.0) == 20
    assert rb.grad(lambda x: f(x) * f(-x))(2.0) == 10 * 2 - 2 * 20
    assert rb.grad(rb.grad(lambda x: f(x) * x))(2.0) == 20


def test_the_function_does_not_run_when_its_rule_does():
    runs = []

    @rb.custom_jvp
    def f(x):
        runs.append(1)
        return x

    f.defjvp(lambda primals, tangents: (primals[0] * 2, tangents[0] * 2))
    assert rb.grad(f)(1.0) == 2 and runs == []


def test_nested_custom_functions():
    @rb.custom_jvp
    def outer(x):
        return triple(x) + x

    outer.defjvp(lambda primals, tangents: (outer(*primals), triple(primals[0]) * tangents[0]))
    assert rb.grad(outer)(2.0) == 6  # the outer rule
    assert rb.grad(rb.grad(outer))(2.0) == 200  # the derivative of triple in it, by its own rule
    assert rb.grad(rb.grad(rb.grad(outer)))(2.0) == 100
    np.testing.assert_allclose(rb.vmap(rb.grad(rb.grad(outer)))(X), 100 * X)


def test_a_rule_that_uses_plain_functions_of_the_tangent():
    @rb.custom_jvp
    def f(x):
        return lax.sin(x)

    @f.defjvp
    def rule(primals, tangents):
        (x,), (t,) = primals, tangents
        double = rb.jit(lambda a: a * 2) if "jit" in dir(rb) else (lambda a: a * 2)
        return f(x), double(t) * lax.cos(x)

    np.testing.assert_allclose(rb.grad(f)(1.0), 2 * np.cos(1), rtol=1e-6)
    np.testing.assert_allclose(rb.grad(rb.grad(f))(1.0), -2 * np.sin(1), rtol=1e-6)


def test_a_rule_that_uses_no_tangent():
    f = rb.custom_jvp(lambda x: x * 2)
    f.defjvp(lambda primals, tangents: (f(*primals), primals[0] * 0))
    assert rb.grad(f)(1.0) == 0


# ----------------------------------------------------------------------------------------------- closures
@pytest.mark.narrow
def test_a_closure_over_arrays():
    held = rb.device_put(X)

    @rb.custom_jvp
    def f(x):
        return total(held * x)

    f.defjvp(lambda primals, tangents: (f(*primals), 2 * total(held) * tangents[0]))
    np.testing.assert_allclose(rb.grad(f)(1.0), 2 * X.sum())
    if "jit" in dir(rb):
        np.testing.assert_allclose(rb.jit(rb.grad(rb.jit(f)))(1.0), 2 * X.sum())


def test_a_closure_over_a_mapped_value():
    def g(x, y):
        @rb.custom_jvp
        def f(y):
            return x * y

        f.defjvp(lambda primals, tangents: (f(*primals), 10 * x * tangents[0]))
        return f(y)

    np.testing.assert_allclose(rb.vmap(g)(X, X), X * X)
    np.testing.assert_allclose(rb.vmap(rb.grad(g, 1))(X, X), 10 * X)
    np.testing.assert_allclose(rb.vmap(g, (0, None))(X, 2.0), 2 * X)


def test_a_closure_over_a_value_being_differentiated_is_refused():
    def g(x):
        f = rb.custom_jvp(lambda y: x * y)
        f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
        return f(2.0 * x)

    with pytest.raises(TypeError, match="closes over"):
        rb.grad(g)(1.0)
    if "jit" in dir(rb):
        with pytest.raises(TypeError, match="closes over"):
            rb.grad(rb.jit(g))(1.0)
