"""cond, switch, while_loop, fori_loop, scan and map by themselves, and what they refuse."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import UnexpectedTracerError
from rabbet.program.avals import ShapedArray
from rabbet.trace.staging import stage

X = np.arange(4, dtype="f4")


def test_cond_takes_one_branch():
    for p in (True, False, 1, 0):
        out = lax.cond(p, lambda x, y: {"a": x + y}, lambda x, y: {"a": x - y}, X, 1.0)
        np.testing.assert_array_equal(out["a"], X + 1 if p else X - 1)


def test_switch_clamps_its_index():
    branches = [lambda x, k=k: x * k for k in (1.0, 2.0, 3.0)]
    for i, k in ((-5, 1), (0, 1), (1, 2), (2, 3), (9, 3)):
        np.testing.assert_array_equal(lax.switch(i, branches, X), X * k)


@pytest.mark.narrow
def test_a_branch_that_stands_there_twice_is_staged_once():
    traced, weights = [], rb.device_put(X * 10)

    def f(x):
        traced.append(1)
        return x * weights, 1  # the Python number takes the dtype of the other branch

    for index in range(4):
        traced.clear()
        out, number = lax.switch(index, [f, f, lambda x: (x, np.float32(2)), f], X)
        np.testing.assert_array_equal(out, X if index == 2 else X * X * 10)
        assert number == (2 if index == 2 else 1) and number.dtype == np.float32
        assert len(traced) == 1
    lax.cond(True, f, f, X)
    assert len(traced) == 2


def test_an_int_here_and_a_float_there_are_refused():
    with pytest.raises(TypeError, match="must return the same types"):
        lax.cond(True, lambda: 1, lambda: 2.0)


def test_branches_may_capture_different_arrays():
    a, b = rb.device_put(X), rb.device_put(X * 10)
    np.testing.assert_array_equal(lax.cond(True, lambda: a + 1, lambda: b), X + 1)
    np.testing.assert_array_equal(lax.cond(False, lambda: a + 1, lambda: b), X * 10)


def test_a_carry_that_gives_way_stays_weak():
    """To what is as weak as itself: Python's numbers stay so through a loop."""
    assert lax.scan(lambda c, x: (1.5, x), 0, X)[0].weak_type
    assert lax.fori_loop(0, 3, lambda i, c: c * 0.5, 4).weak_type
    assert not lax.scan(lambda c, x: (x, x), 0, X)[0].weak_type


def test_while_loop_carries_a_pytree():
    out = lax.while_loop(
        lambda s: s["i"] < 5, lambda s: {"i": s["i"] + 1, "v": (s["v"][0] * 2,)}, {"i": 0, "v": (X,)}
    )
    assert int(out["i"]) == 5
    np.testing.assert_array_equal(out["v"][0], X * 32)


def test_a_loop_that_does_not_start():
    assert int(lax.while_loop(lambda v: v < 0, lambda v: v + 1, 3)) == 3
    assert int(lax.fori_loop(5, 2, lambda i, v: v + 1, 7)) == 7


def test_the_index_of_fori_loop_gives_way():
    for upper in (3, rb.device_put(np.int32(3))):
        out = lax.fori_loop(0, upper, lambda i, v: v + i, np.uint8(1))
        assert (out.dtype, int(out)) == (np.uint8, 4)


@pytest.mark.needs("jit")
def test_the_index_of_a_traced_fori_loop_gives_way():
    out = rb.jit(lambda n: lax.fori_loop(0, n, lambda i, v: v + i, np.uint8(1)))(3)
    assert (out.dtype, int(out)) == (np.uint8, 4)


def test_numbers_that_loops_begin_with_are_literals():
    """The compiler knows their value, and calls have no arrays to hand over."""
    for fn in (
        lambda x: lax.scan(lambda c, _: ((c[0] + 1, lax.add(c[1], x)), None), (0, x), None, length=3)[0][1],
        lambda x: lax.fori_loop(0, 3, lambda i, c: lax.mul(c, x), x),
        lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, lax.mul(c[1], x)), (0, x))[1],
    ):
        program = stage(lambda x, fn=fn: [fn(x)], [ShapedArray((4,), "float32")])
        assert not program.consts


@pytest.mark.needs("jit")
def test_loops_of_more_steps_than_an_int32_counts():
    with rb.enable_x64(True):
        text = rb.jit(lambda x: lax.fori_loop(0, 2**31, lambda i, v: v + i, x)).lower(0).as_text()
        assert "dense<2147483648> : tensor<i64>" in text
        assert int(lax.fori_loop(2**31, 2**31 + 3, lambda i, v: v + i, 0)) == 3 * 2**31 + 3


def test_bounds_of_fori_loop():
    n = rb.device_put(np.int32(4))
    assert int(lax.fori_loop(1, n, lambda i, v: v + i, 0)) == 6
    seen = []
    out = lax.fori_loop(np.uint8(1), np.uint8(3), lambda i, v: seen.append(i.dtype) or v + i, np.uint8(0))
    assert (int(out), {str(d) for d in seen}) == (3, {"uint8"})


@pytest.mark.needs("jit", "grad")
def test_bounds_that_are_known_when_tracing():
    """An array has a value, so reverse mode knows the number of steps; a tracer has none."""
    n = rb.device_put(np.int32(3))
    assert float(rb.grad(lambda x: lax.fori_loop(0, n, lambda i, v: v * x, 1.0))(2.0)) == 12.0
    traced = rb.jit(lambda n, x: rb.jvp(lambda x: lax.fori_loop(0, n, lambda i, v: v * x, 1.0), (x,), (1.0,)))
    assert [float(v) for v in traced(n, 2.0)] == [8.0, 12.0]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("unroll", [1, 2, 3, True])
def test_scan_is_a_loop(reverse, unroll):
    carry, ys = lax.scan(lambda c, x: (c * 0.5 + x, (c, x * 2)), 1.0, X, reverse=reverse, unroll=unroll)
    want, seen = 1.0, [None] * 4
    for i in reversed(range(4)) if reverse else range(4):
        seen[i] = (want, X[i] * 2)
        want = want * 0.5 + X[i]
    assert float(carry) == want
    np.testing.assert_array_equal(ys[0], [s[0] for s in seen])
    np.testing.assert_array_equal(ys[1], [s[1] for s in seen])


@pytest.mark.parametrize("eager", [False, True])
def test_a_weak_carry_is_stacked_in_the_dtype_that_it_gives_way_to(eager):
    with rb.config.override(enable_x64=True, disable_jit=eager):
        _, carries = lax.scan(lambda c, x: (c * 0.5 + x, c), 1.0, X)
    assert (carries.dtype, carries.tolist()[0]) == (np.float32, 1.0)


def test_scan_of_nothing():
    carry, ys = lax.scan(lambda c, x: (c + x, c), 2.0, np.zeros((0,), "f4"))
    assert (float(carry), ys.shape) == (2.0, (0,))
    carry, ys = lax.scan(lambda c, _: (c + 1, None), 0, None, length=3)
    assert (int(carry), ys) == (3, None)


def test_a_weak_carry_gives_way():
    carry, _ = lax.scan(lambda c, x: (c + x, None), 0, X)
    assert (carry.dtype, float(carry)) == (np.float32, 6.0)


def test_python_runs_when_jit_is_disabled():
    seen = []
    with rb.disable_jit():
        lax.scan(lambda c, x: (seen.append(float(x)) or c, x), 0.0, rb.device_put(X))
        assert lax.cond(True, lambda: 1, lambda: 2) == 1
        assert lax.while_loop(lambda v: v < 3, lambda v: v + 1, 0) == 3
    assert seen == X.tolist()


def test_an_operand_by_name():
    assert lax.cond(True, lambda o: (o, 1), lambda o: (o, 2), operand=None) == (None, 1)
    assert int(lax.cond(False, lambda o: o, lambda o: o * 2, operand=3)) == 6
    assert int(lax.switch(1, [lambda o: o, lambda o: o * 2], operand=3)) == 6


def test_unroll_by_bool():
    for unroll in (True, False):
        assert int(lax.scan(lambda c, x: (c + 1, None), 0, X, unroll=unroll)[0]) == 4
        assert int(lax.fori_loop(0, 5, lambda i, v: v + i, 0, unroll=unroll)) == 10
    with pytest.raises(ValueError, match="unroll must not be negative, got -1"):
        lax.scan(lambda c, x: (c, x), 0, None, length=2, unroll=-1)


def a_step(i, v):
    return {"a": v["a"] + X}


REFUSED = [
    (
        lambda: lax.fori_loop(1j, 3, lambda i, v: v, 0),
        r"fori_loop: lower must be an integer or floating scalar, got c64",
    ),
    (lambda: lax.scan(lambda c, x: (c, x), 0.0, length=2.5), r"length must be an int, got 2\.5"),
    (
        lambda: lax.scan(lambda c, x: ({"a": c["a"], "b": x}, x), {"a": 0, "b": 1}, X > 0),
        r"carry\['b'\] goes in as i32\[\] and comes out as bool\[\]",
    ),
    (
        lambda: lax.cond(X > 1, lambda: 1, lambda: 2),
        r"cond: the predicate must be a boolean scalar, got bool\[4\]",
    ),
    (
        lambda: lax.cond(True, lambda: (1, 2), lambda: 1),
        r"(?s)cond branch outputs must have the same pytree structure.*<lambda> \(.*test_control.py:\d+\)",
    ),
    (
        lambda: lax.cond(True, lambda: {"a": X}, lambda: {"a": X[:2]}),
        r"the output\['a'\] is f32\[4\] in .*f32\[2\] in",
    ),
    (lambda: lax.switch(0.5, [lambda: 1, lambda: 2]), r"the index must be an integer scalar, got f32\[\]"),
    (
        lambda: lax.while_loop(lambda v: v, lambda v: v, 1.0),
        r"must return one boolean scalar, it returns f32\[\]",
    ),
    (
        lambda: lax.while_loop(lambda v: (v < 3,), lambda v: v + 1, 0),
        r"must return one boolean scalar, it returns tuple of length 1",
    ),
    (
        lambda: lax.fori_loop(0, 3, lambda i, v: None, 0),
        r"fori_loop: .* must return the structure that it carries; .* returns None",
    ),
    (
        lambda: lax.while_loop(lambda v: True, lambda v: (v, v), X),
        r"must return the structure that it carries",
    ),
    (
        lambda: lax.while_loop(lambda v: True, lambda v: v[:2], X),
        r"carry.* goes in as f32\[4\] and comes out as f32\[2\]",
    ),
    (
        lambda: lax.scan(lambda c, x: (c, x), 0.0, (X, X[:2])),
        r"the number of steps is not clear: 4 by xs\[0\].*2 by xs\[1\]",
    ),
    (lambda: lax.scan(lambda c, x: (c, x), 0.0, X, length=3), r"4 by xs .*; 3 by length"),
    (lambda: lax.scan(lambda c, x: (c, x), 0.0), r"holds no arrays; give it xs or length"),
    (lambda: lax.scan(lambda c, x: c, 0.0, X), r"must return a pair \(carry, y\)"),
    (lambda: lax.scan(lambda c, x: ((c, c), x), 0.0, X), r"must return the structure that it carries"),
    (lambda: lax.scan(lambda c, x: (c, x), 0.0, 1.0), r"xs is a scalar and has no slices"),
    (lambda: lax.scan(lambda c, x: (c, x), 0.0, length=-1), r"length must not be negative, got -1"),
    (lambda: lax.cond("yes", lambda: 1, lambda: 2), r"the predicate must be a boolean scalar, got str 'yes'"),
    (
        lambda: lax.fori_loop(0, 3, a_step, {"a": 0.0}),
        r"fori_loop: a_step \(.*py:\d+\) .*; the value\['a'\].* f32\[\] and comes out as f32\[4\]\n  to fix",
    ),
    (
        lambda: lax.fori_loop(0, 3, lambda i, v: (v, v), 0.0),
        "at the value it takes an array and returns tuple of length 2",
    ),
]


@pytest.mark.parametrize("call,message", REFUSED)
@pytest.mark.narrow
def test_what_is_refused(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_a_value_that_leaves_a_body_says_whose_it_was():
    kept = []

    def leaky(carry, x):
        kept.append(carry)
        return carry, x

    def leaky_step(i):
        kept.append(i)
        return lax.add(i, 1)

    lax.scan(leaky, 1.0, None, length=2)
    with pytest.raises(UnexpectedTracerError, match=r"the trace of [\w.<>]*leaky \(.*test_control.py"):
        lax.add(kept.pop(), 1.0)
    lax.while_loop(lambda i: lax.lt(i, 2), leaky_step, 0)
    with pytest.raises(UnexpectedTracerError, match=r"the trace of [\w.<>]*leaky_step \(.*test_control.py"):
        lax.add(kept.pop(), 1.0)


def test_loops_that_keep_few_states_are_some_packages(monkeypatch):
    from rabbet.errors import MissingPluginError
    from rabbet.lax import plugin_functions

    monkeypatch.setattr(plugin_functions, "loops", lambda: ([], ["some-package"]))
    with pytest.raises(MissingPluginError, match=r"while_loop of .*\n.*install some-package, or"):
        lax.while_loop(lambda x: x < 3, lambda x: x + 1, 0, max_steps=4)

    class Loops:
        def scan_keeping_few(self, f, init, xs, length, reverse, **how):
            return init, (xs, length, reverse, how)

    monkeypatch.setattr(plugin_functions, "loops", lambda: ([Loops()], []))
    handed = lax.scan(None, 1, None, 5, checkpoint_every=2)
    assert handed == (1, (None, 5, False, {"every": 2, "checkpoints": None}))


def test_unroll_is_whole():
    for wrong in (1.5, "2"):
        with pytest.raises(TypeError, match=r"fori_loop of .*unroll must be an integer, got"):
            lax.fori_loop(0, 2, lambda i, c: c, 0.0, unroll=wrong)
    assert float(lax.fori_loop(0, 3, lambda i, c: lax.add(c, 1.0), 0.0, unroll=True)) == 3


def test_reverse_is_true_or_false():
    for wrong in ({}, "no", np.str_("no")):
        with pytest.raises(TypeError, match=r"scan of .*: reverse must be True or False, got (dict|str)"):
            lax.scan(lambda c, x: (c, x), 0.0, X, reverse=wrong)
    last, _ = lax.scan(lambda c, x: (x, None), X[1], X, reverse=np.True_)
    assert float(last) == X[0]
