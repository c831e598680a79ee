"""The branch that an example does not take leaves nothing in its derivative, whatever it would compute."""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

pytestmark = pytest.mark.needs("cpu", "jit", "numpy", "grad", "vmap")

# Functions and a point where their derivative is infinite or none.
SINGULAR = {
    "log": (lax.log, 0.0),
    "log1p": (lax.log1p, -1.0),
    "sqrt": (lax.sqrt, 0.0),
    "rsqrt": (lax.rsqrt, 0.0),
    "cbrt": (lax.cbrt, 0.0),
    "reciprocal": (lambda x: 1.0 / x, 0.0),
    "asin": (lax.asin, 1.0),
    "acos": (lax.acos, 1.0),
    "acosh": (lax.acosh, 1.0),
    "atanh": (lax.atanh, 1.0),
    "erf_inv": (lax.erf_inv, 1.0),
    "pow": (lambda x: lax.pow(x, 0.5), 0.0),
    "integer_pow": (lambda x: lax.integer_pow(x, -2), 0.0),
    "lgamma": (lax.lgamma, 0.0),
    "digamma": (lax.digamma, 0.0),
    "exp": (lambda x: lax.exp(x * x * x), 90.0),
    "atan2": (lambda x: lax.atan2(x, x), 0.0),
    "hypot": (lambda x: rnp.hypot(x, x), 0.0),
    "norm": (lambda x: rnp.linalg.norm(rnp.stack([x, x])), 0.0),
    "rem": (lambda x: lax.rem(x, x), 0.0),
    "prod": (lambda x: rnp.stack([x, x]).prod(), np.inf),
    "shared": (lambda x: x / rnp.zeros(()), 0.0),
    "tan": (lambda x: 1 / lax.tan(x), 0.0),
    "cholesky": (lambda x: lax.linalg.cholesky(rnp.eye(2) * x).sum(), 0.0),
    "inv": (lambda x: rnp.linalg.inv(rnp.eye(2) * x).sum(), 0.0),
    "slogdet": (lambda x: rnp.linalg.slogdet(rnp.eye(2) * x)[1], 0.0),
    "solve": (lambda x: rnp.linalg.solve(rnp.eye(2) * x, rnp.ones(2)).sum(), 0.0),
    "sinh": (lax.sinh, 1e4),
    "expm1": (lax.expm1, 1e4),
    "cumprod": (lambda x: rnp.cumprod(rnp.stack([x, x]))[1] / x, 0.0),
    "cumlogsumexp": (lambda x: lax.cumlogsumexp(rnp.stack([x, x]))[1], -np.inf),
    "logaddexp": (lambda x: rnp.logaddexp(x, x), -np.inf),
    "std": (lambda x: rnp.std(rnp.stack([x, x])), 0.0),
    "float_power": (lambda x: rnp.float_power(x, 0.3), 0.0),
    "angle": (lambda x: rnp.angle(lax.complex(x, x)), 0.0),
    "abs of complex": (lambda x: rnp.abs(lax.complex(x, x)), 0.0),
    "log of complex": (lambda x: lax.log(lax.complex(x, x)).real, 0.0),
    "inside a loop": (lambda x: lax.fori_loop(0, 2, lambda i, y: lax.sqrt(y), x), 0.0),
    "jitted": (rb.jit(lax.log), 0.0),
    "checkpointed": (rb.checkpoint(lax.log), 0.0),
}


def chooser(function, point, how):
    def other(x):
        return 3.0 * x

    def choose(x):
        at = x == point
        if how == "cond":
            return lax.cond(at, other, function, x)
        if how == "switch":
            return lax.switch(at.astype(int) * 2, [function, function, other], x)
        return lax.scan(lambda c, _: (lax.cond(at, lambda v: v, function, c), None), 3.0 * x, None, length=1)[
            0
        ]

    return choose


@pytest.mark.parametrize("how", ["cond", "switch", "scan"])
def test_no_derivative_comes_from_a_branch_that_was_not_taken(how):
    choosers = {name: chooser(*case, how) for name, case in SINGULAR.items()}
    points = {name: rnp.array([point, 0.3]) for name, (_, point) in SINGULAR.items()}

    def each(way):  # one program for all functions
        return rb.jit(lambda points: {name: way(choosers[name], xs) for name, xs in points.items()})(points)

    alone = each(lambda f, xs: rnp.stack([rb.grad(f)(x) for x in xs]))
    ways = {
        "reverse": lambda f, xs: rb.grad(lambda xs: rb.vmap(f)(xs).sum())(xs),
        "forward": lambda f, xs: rb.jvp(rb.vmap(f), (xs,), (rnp.ones(2),))[1],
    }
    wrong = []
    for way, derivative in ways.items():
        for name, found in each(derivative).items():
            if not np.allclose(found, alone[name], rtol=1e-5, equal_nan=True) or np.isnan(found[0]):
                wrong.append(f"{name} {way}: {found}, example by example {alone[name]}")
    assert not wrong, "\n".join(wrong)


def test_second_derivatives_and_shared_operands():
    safe = lambda x: lax.cond(x > 0, lax.log, lambda x: 0 * x, x)
    xs = rnp.array([0.0, 2.0])
    second = rb.hessian(lambda xs: rb.vmap(safe)(xs).sum())(xs)
    np.testing.assert_allclose(second, [[0, 0], [0, -0.25]], rtol=1e-6)

    def scaled(w, x):
        return lax.cond(x > 0, lambda: lax.sqrt(w - 1.0) * x, lambda: w * x)

    w = rnp.array(1.0)
    found = rb.grad(lambda w: rb.vmap(scaled, (None, 0))(w, rnp.array([-2.0, -3.0])).sum())(w)
    assert float(found) == -5


def test_operands_that_all_examples_share_stay_shared_where_nothing_is_singular():
    w = rnp.ones((3, 4))
    program = rb.make_jaxpr(
        rb.vmap(lambda x: lax.cond(x.sum() > 0, lambda x: x @ w, lambda x: x @ (w + 1), x))
    )
    products = [e for e in program(rnp.ones((5, 3))).jaxpr.eqns if e.primitive.name == "dot_general"]
    assert [e.invars[1].aval.shape for e in products] == [(3, 4), (3, 4)]


def test_examples_that_are_done_with_a_loop_keep_their_derivative():
    def fall(x):
        return lax.while_loop(
            lambda s: s[1] > 0.5, lambda s: (s[0] + lax.sqrt(s[1] - 0.5), s[1] - 1.0), (x * 0, x)
        )[0]

    xs = rnp.array([0.5, 0.6, 1.6, 2.6, 0.0])
    alone = [float(rb.jvp(fall, (x,), (1.0,))[1]) for x in xs]
    np.testing.assert_allclose(rb.jvp(rb.vmap(fall), (xs,), (rnp.ones(5),))[1], alone, rtol=1e-6)
