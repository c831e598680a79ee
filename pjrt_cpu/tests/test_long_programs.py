"""Long programs in pieces: the same results and derivatives, and nothing that the compiler gets is longer
than a piece.
"""

import os

import numpy as np
import pytest
import rabbet as rb
from rabbet import config, lax
from rabbet.extend.functions import to_array
from rabbet.extend.passes import bodies_of, check, evaluate, stage
from rabbet_pjrt_cpu import long_programs

X = np.linspace(0.1, 0.9, 5).astype("float32")


@pytest.fixture
def short(monkeypatch):
    """Programs of more than 60 equations are long, and pieces have at most 20."""
    monkeypatch.setattr(long_programs, "LONGEST", 60)
    monkeypatch.setattr(long_programs, "PIECE", 20)


def steps(x, y, count=50):
    kept = []
    for i in range(count):
        x = lax.mul(lax.sin(x), 1.5)
        if i % 9 == 0:
            x = lax.add(x, y)
            kept.append(x)
    return [x, lax.add(kept[1], kept[-2]), y]


def lengths(jaxpr):
    """The number of equations of a program and, below it, of all that it carries."""
    yield len(jaxpr.equations)
    for eqn in jaxpr.equations:
        for _, body in bodies_of(eqn.op):
            yield from lengths(body)


def cut(fn, *args):
    closed = stage(fn, [rb.typeof(to_array(x)) for x in args])
    after = long_programs.PASS.apply(closed.jaxpr)
    check(after)
    return closed, after


def test_a_long_program_has_the_same_results_in_pieces(short):
    closed, after = cut(steps, X, X)
    assert {e.primitive.name for e in after.equations} == {"piece"}
    assert max(lengths(after)) <= 20 and sum(lengths(after)) == len(closed.jaxpr.equations) + len(
        after.equations
    )
    for a, b in zip(evaluate(after, [X, X]), evaluate(closed.jaxpr, [X, X]), strict=True):
        assert np.asarray(a).tolist() == np.asarray(b).tolist()


def test_short_programs_stay_as_they_are(short):
    closed, after = cut(lambda x: steps(x, x, 20), X)
    assert after is closed.jaxpr


def test_cuts_are_where_little_crosses(short):
    def wide_in_the_middle(x):
        for _ in range(4):
            for _ in range(15):
                x = lax.sin(x)
            x = lax.reshape(lax.broadcast_in_dim(x, (100, 5), (1,)), (500,))[:5]
        return [x]

    _, after = cut(wide_in_the_middle, X)
    shapes = {v.aval.shape for e in after.equations for v in e.outputs}
    assert shapes == {(5,)}


def test_operations_with_effects_keep_their_places(short):
    pytest.importorskip("rabbet_callbacks")
    seen = []

    def talking(x):
        for i in range(40):
            x = lax.mul(lax.sin(x), 1.5)
            if i % 13 == 0:
                rb.debug.callback(lambda v, i=i: seen.append(i), x, ordered=True)
        return [x]

    _, after = cut(talking, X)
    assert [e.primitive.name for e in after.equations].count("debug_callback") == 4
    evaluate(after, [X])
    rb.effects_barrier()
    assert seen == [0, 13, 26, 39]


@pytest.mark.needs("jit", "grad")
def test_calls_count_with_what_they_call_and_bodies_are_cut_too(short):
    once = rb.jit(lambda x: steps(x, x, 10)[0])

    def calling(x):
        for _ in range(6):
            x = once(x)
        return [x]

    _, after = cut(calling, X)
    assert [e.primitive.name for e in after.equations] == ["piece"] * 6

    def looping(x):
        return lax.scan(lambda c, _: (steps(c, c)[0], None), x, None, length=3)[:1]

    closed, after = cut(looping, X)
    assert max(lengths(after)) <= 20 and "piece" in str(after)
    np.testing.assert_allclose(evaluate(after, [X])[0], evaluate(closed.jaxpr, [X])[0], rtol=1e-6)


@pytest.mark.needs("jit", "grad", "vmap")
def test_compiled_functions_and_their_derivatives_agree(short):
    def total(x, y):
        return sum(v.sum() for v in steps(x, y))

    ways = {
        "value": lambda: rb.jit(lambda x, y: total(x, y)),
        "gradient": lambda: rb.jit(rb.grad(lambda x, y: total(x, y), argnums=(0, 1))),
        "second": lambda: rb.jit(rb.jacfwd(rb.grad(lambda x, y: total(x, y)))),
        "mapped": lambda: rb.jit(rb.vmap(lambda x, y: total(x, y))),
    }
    for name, way in ways.items():
        found = way().lower(X, X)
        assert 'inlineable = "false"' in found.as_text(), name
        found = found.compile()(X, X)
        with config.override(disable_passes=("long-programs",)):
            wanted = way().lower(X, X)
        assert 'inlineable = "false"' not in wanted.as_text(), name
        rb.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-6, atol=1e-6), found, wanted.compile()(X, X)
        )


@pytest.mark.needs("jit", "random")
def test_typed_keys_cross_from_piece_to_piece(short):
    def keyed(key):
        for _ in range(70):
            key = lax.select(True, key, key)
        return rb.random.key_data(key)

    found = rb.jit(keyed).lower(rb.random.key(3))
    assert 'inlineable = "false"' in found.as_text()
    assert found.compile()(rb.random.key(3)).tolist() == [0, 3]


def test_programs_are_long_by_default_before_the_compiler_fails():
    closed, after = cut(lambda x: steps(x, x, 5000), X)
    assert len(closed.jaxpr.equations) > long_programs.LONGEST == 10_000
    assert max(lengths(after)) <= long_programs.PIECE


@pytest.mark.exhaustive
@pytest.mark.needs("jit")
def test_forty_thousand_operations():
    found = rb.jit(chain)(X)
    np.testing.assert_allclose(found, chain(X.astype("float64"), np.multiply, np.sin), rtol=1e-4)


def test_pieces_are_short_where_their_results_have_much_in_common(monkeypatch):
    # The forward part of a gradient: each step leaves a value for the backward part, which XLA computes from
    # the piece's beginning on.
    monkeypatch.setattr(long_programs, "LONGEST", 500)

    def forward(x):
        kept = []
        for _ in range(400):
            x = lax.mul(lax.sin(x), 1.5)
            kept.append(lax.cos(x))
        return [x, *kept]

    def alone(x):
        for _ in range(1200):
            x = lax.mul(x, 1.5)
        return [x]

    closed, after = cut(forward, X)
    lengths_of = [len(e.op["jaxpr"].equations) for e in after.equations]
    assert sum(lengths_of) == len(closed.jaxpr.equations) == 1200
    assert max(lengths_of) < 100 and min(lengths_of[:-1]) >= long_programs.SHORTEST // 2
    for a, b in zip(evaluate(after, [X]), evaluate(closed.jaxpr, [X]), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    _, after = cut(alone, X)
    assert [len(e.op["jaxpr"].equations) for e in after.equations] == [1000, 200]


def test_copies_are_counted():
    closed, _ = cut(lambda x: [lax.sin(x), lax.cos(lax.sin(x))], X)
    equations = closed.jaxpr.equations
    last = long_programs.last_uses(closed.jaxpr)
    assert long_programs.copied(equations, last, len(equations)) == 1 + 2


@pytest.mark.needs("jit", "grad")
def test_the_gradient_of_a_long_program_in_short_pieces(monkeypatch):
    monkeypatch.setattr(long_programs, "LONGEST", 200)
    monkeypatch.setattr(long_programs, "COPIED", 50)
    check_gradient(150)


@pytest.mark.skipif(not os.environ.get("RABBET_SOAK"), reason="takes minutes and gigabytes: RABBET_SOAK=1")
@pytest.mark.needs("jit", "grad")
def test_the_gradient_of_forty_thousand_operations():
    check_gradient(40_000 // 3)


def check_gradient(count):
    """The gradient of `count` steps, each of three operations; its size stays near one."""

    def steps(x):
        for _ in range(count):
            x = lax.add(x, lax.mul(lax.cos(x), np.float32(1 / count)))
        return lax.reduce_sum(x, (0,))

    slope = rb.jit(rb.grad(steps)).lower(X)
    assert 'inlineable = "false"' in slope.as_text()
    x, d = X.astype("float64"), np.ones(5)
    for _ in range(count):
        x, d = x + np.cos(x) / count, d * (1 - np.sin(x) / count)
    assert d.min() > 0.3
    np.testing.assert_allclose(slope.compile()(X), d, rtol=1e-3)


def chain(x, mul=lax.mul, sin=lax.sin):
    for _ in range(20_000):
        x = mul(sin(x), np.asarray(1.01, x.dtype))
    return x
