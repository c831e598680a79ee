"""Control flow under every transformation: a loop or branch of ``lax`` does what the same Python does,
whatever is around it.
"""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.passes import check

pytestmark = [pytest.mark.library, pytest.mark.optimized, pytest.mark.needs("jit", "grad", "vmap")]

XS = np.linspace(-0.9, 1.1, 5).astype("f4")


def total(x):
    return lax.reduce_sum(x, axes=tuple(range(x.ndim)))


def step(w, carry, x):
    carry = lax.tanh(carry * w + x)
    return carry, carry * x


def by_scan(w, xs):
    carry, ys = lax.scan(lambda c, x: step(w, c, x), w, xs)
    return carry + total(ys)


def by_loop(w, xs):
    carry, out = w, 0.0
    for i in range(len(XS)):
        carry, y = step(w, carry, xs[i])
        out = out + y
    return carry + out


def reversed_scan(w, xs):
    carry, ys = lax.scan(lambda c, x: step(w, c, x), w, xs, reverse=True, unroll=2)
    return carry * total(ys)


def reversed_loop(w, xs):
    carry, out = w, 0.0
    for i in reversed(range(len(XS))):
        carry, y = step(w, carry, xs[i])
        out = out + y
    return carry * out


def by_cond(w, xs):
    return lax.cond(total(xs) > 0, lambda w, x: total(lax.sin(x * w)), lambda w, x: total(x) * w * w, w, xs)


def by_if(w, xs):
    return total(lax.sin(xs * w)) if float(np.asarray(XS).sum()) > 0 else total(xs) * w * w


def by_fori(w, xs):
    return lax.fori_loop(0, 4, lambda i, v: v * w + xs[i], w)


def by_range(w, xs):
    v = w
    for i in range(4):
        v = v * w + xs[i]
    return v


PAIRS = [(by_scan, by_loop), (reversed_scan, reversed_loop), (by_cond, by_if), (by_fori, by_range)]
both = pytest.mark.parametrize("flow,plain", PAIRS, ids=[f.__name__ for f, _ in PAIRS])


def same(a, b, tolerance=2e-5):
    for x, y in zip(rb.tree.leaves(a), rb.tree.leaves(b), strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=tolerance, atol=tolerance)


@both
@pytest.mark.parametrize(
    "transform",
    [
        lambda f: f,
        lambda f: lambda w, xs: rb.jvp(f, (w, xs), (np.float32(0.3), xs * 0 + 0.7)),
        lambda f: rb.grad(f, (0, 1)),
        lambda f: rb.jacfwd(f),
        lambda f: rb.grad(rb.grad(f)),
        lambda f: lambda w, xs: rb.jvp(rb.grad(f), (w, xs), (np.float32(1), xs * 0)),
        lambda f: rb.grad(lambda w, xs: rb.jvp(f, (w, xs), (np.float32(1), xs))[1]),
        lambda f: rb.hessian(f, 1),
    ],
    ids=["value", "jvp", "grad", "jacfwd", "grad-grad", "jvp-grad", "grad-jvp", "hessian"],
)
def test_a_transformed_loop_is_the_loop_transformed(flow, plain, transform):
    wanted = transform(plain)(np.float32(0.6), rb.device_put(XS))
    same(transform(flow)(np.float32(0.6), rb.device_put(XS)), wanted)
    same(rb.jit(transform(flow))(np.float32(0.6), XS), wanted)
    same(transform(rb.jit(flow))(np.float32(0.6), rb.device_put(XS)), wanted)
    check(rb.make_jaxpr(transform(flow))(np.float32(0.6), XS))


@both
def test_vmap_of_a_loop_is_a_loop_of_calls(flow, plain):
    ws = np.linspace(0.2, 0.8, 3).astype("f4")
    batch = np.stack([XS, XS * 0.9, XS + 0.1])
    wanted = [np.asarray(plain(w, rb.device_put(XS))) for w in ws]
    same(rb.vmap(flow, (0, None))(ws, rb.device_put(XS)), np.stack(wanted))
    grads = [rb.grad(plain, (0, 1))(w, rb.device_put(x)) for w, x in zip(ws, batch, strict=True)]
    same(
        rb.vmap(rb.grad(flow, (0, 1)))(ws, batch),
        tuple(np.stack([np.asarray(g[i]) for g in grads]) for i in range(2)),
    )
    same(rb.jit(rb.vmap(rb.jit(flow), (0, None)))(ws, XS), np.stack(wanted))


def test_a_batched_predicate_selects():
    f = rb.vmap(lambda p, x: lax.cond(p, lax.sin, lambda x: x * 2, x))
    p = np.array([True, False, True, False, True])
    same(f(p, XS), np.where(p, np.sin(XS), XS * 2))
    g = rb.vmap(rb.grad(lambda x, p: lax.cond(p, lax.sin, lambda x: x * 2, x)))
    same(g(XS, p), np.where(p, np.cos(XS), 2.0))


def test_a_batched_condition_runs_one_loop():
    def double_until(n):
        return lax.while_loop(lambda v: v < n, lambda v: v * 2, 1)

    limits = np.array([3, 10, 100, 1], "i4")
    assert np.asarray(rb.vmap(double_until)(limits)).tolist() == [4, 16, 128, 1]
    text = str(rb.make_jaxpr(rb.vmap(double_until))(limits))
    assert text.count(" = while[") == 1
    assert rb.jit(rb.vmap(double_until)).lower(limits).as_text().count("stablehlo.while") == 1


def test_a_dynamic_trip_count_under_vmap():
    f = rb.vmap(lambda n: lax.fori_loop(0, n, lambda i, v: v + i, 0))
    assert np.asarray(f(np.array([3, 10, 0], "i4"))).tolist() == [3, 45, 0]


def test_forward_mode_goes_through_while():
    out, tangent = rb.jvp(lambda v: lax.while_loop(lambda s: s < 10.0, lambda s: s * 2.0, v), (1.0,), (1.0,))
    assert (float(out), float(tangent)) == (16.0, 16.0)


def test_reverse_mode_through_while_says_what_to_use():
    with pytest.raises(
        rb.errors.MissingRule, match=r"(?s)while_loop.*lax\.scan, or lax\.fori_loop with static"
    ):
        rb.grad(lambda v: lax.while_loop(lambda s: s < 10.0, lambda s: s * 2.0, v))(1.0)


def test_a_long_scan_traces_its_body_a_constant_number_of_times():
    traced = []

    def body(c, x):
        traced.append(1)
        return lax.sin(c) * x, None

    def loss(c, xs):
        return lax.scan(body, c, xs)[0]

    rb.jit(rb.grad(loss))(0.5, np.ones(1000, "f4"))
    few = len(traced)
    traced.clear()
    rb.jit(rb.grad(loss))(0.5, np.ones(10, "f4"))
    assert len(traced) == few <= 2


def test_residuals_are_kept_small():
    """The weight that every step reads is kept once, not once per step, and what was repeated is kept
    unrepeated.
    """

    def loss(w, xs):
        return total(
            lax.scan(lambda c, x: (lax.tanh(lax.reduce_sum(w * c, axes=(1,)) + x), None), xs[0], xs)[0]
        )

    text = str(rb.make_jaxpr(rb.grad(loss))(np.ones((7, 7), "f4"), np.ones((50, 7), "f4")))
    assert "f32[50,7]" in text
    assert "f32[50,7,7]" not in text


def test_custom_rules_inside_a_loop():
    @rb.custom_jvp
    def f(x):
        return x * x

    @f.defjvp
    def f_jvp(primals, tangents):
        (x,), (t,) = primals, tangents
        return f(x), 10.0 * t

    def loss(x):
        return lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0]

    assert float(rb.grad(loss)(0.5)) == 100.0
    assert np.asarray(rb.vmap(rb.grad(loss))(XS)).tolist() == [100.0] * 5


def test_keys_and_integers_are_carried():
    def loss(x, n):
        return lax.scan(lambda c, i: ((c[0] * x, c[1] + i), c[1]), (x, n), np.arange(3, dtype="i4"))

    (value, n), seen = loss(2.0, 5)
    assert (float(value), int(n), np.asarray(seen).tolist()) == (16.0, 8, [5, 5, 6])
    assert float(rb.grad(lambda x: loss(x, 5)[0][0])(2.0)) == 32.0


@pytest.mark.needs("random")
def test_keys_are_stacked_and_kept():
    key = rb.random.key(0)

    def noisy(w, key):
        def body(carry, _):
            key, v = carry
            key, now = rb.random.split(key)
            return (key, v * w + rb.random.uniform(now)), key

        (_, value), keys = lax.scan(body, (key, w), None, length=3)
        return value, keys

    value, keys = noisy(0.5, key)
    with rb.disable_jit():
        wanted, seen = noisy(np.float32(0.5), key)
    same(value, wanted)
    assert (rb.random.key_data(keys) == rb.random.key_data(seen)).all()
    grad = rb.jit(rb.grad(lambda w: noisy(w, key)[0]))(0.5)
    h = 1e-2
    same(grad, (noisy(0.5 + h, key)[0] - noisy(0.5 - h, key)[0]) / (2 * h), 1e-3)
    assert rb.vmap(noisy, (0, None))(np.ones(2, "f4"), key)[1].shape == (2, 3)
    drawn = lax.map(lambda i: rb.random.fold_in(key, i), np.arange(3))
    assert (drawn.shape, drawn.dtype) == ((3,), key.dtype)


@pytest.mark.needs("random")
def test_keys_in_branches():
    key = rb.random.key(1)

    def f(w, key):
        return lax.cond(w > 0, lambda w, k: w * rb.random.uniform(k), lambda w, k: w * 3, w, key)

    draw = float(rb.random.uniform(key))
    same(rb.grad(f)(0.5, key), np.float32(draw))
    same(rb.vmap(rb.grad(f), (0, None))(np.array([0.5, -1.0], "f4"), key), np.array([draw, 3.0], "f4"))


def test_associative_scan_is_made_of_primitives():
    xs = np.random.RandomState(0).randn(4, 7).astype("f4")

    def by_tree(x, reverse=False):
        return lax.associative_scan(lambda a, b: a * b, x, reverse=reverse)

    same(rb.jit(rb.vmap(by_tree))(xs), np.cumprod(xs, 1))
    f, g = (lambda x: total(lax.sin(by_tree(x)))), (lambda x: total(lax.sin(lax.cumprod(x))))
    same(rb.vmap(rb.grad(f))(xs), rb.vmap(rb.grad(g))(xs), 1e-4)
    same(rb.jit(rb.hessian(f))(xs[0]), rb.hessian(g)(xs[0]), 1e-3)
    same(by_tree(xs[0], True), np.cumprod(xs[0][::-1])[::-1])


def test_map_by_batches_is_differentiable():
    xs = np.linspace(0, 1, 7).astype("f4")
    f = lambda xs: total(lax.map(lambda x: lax.sin(x) * x, xs, batch_size=3))
    same(rb.jit(rb.grad(f))(xs), np.sin(xs) + xs * np.cos(xs))
