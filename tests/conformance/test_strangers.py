"""Transformations that no package of ours knows, in every order with ours, and through control flow.

Intervals (two leaves), fixed-point numbers (a static scale that grows in a loop) and a counter of operations:
what core promises to every plugin, tried on three that were written for nothing else.
"""

import re
from itertools import pairwise, permutations
from typing import Any, NamedTuple

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.functions import array_or_tracer
from rabbet.extend.transform import Interpreter, RuleTable, run
from rabbet.testing.toys import Box, Enclose, increasing

pytestmark = [pytest.mark.optimized, pytest.mark.needs("jit", "grad", "vmap")]


# -------------------------------------------------------------------------------------------------- intervals
def enclose(fn):
    return lambda box: run(Enclose(), fn, [Box(*box)])


def upper(fn):
    """As a function of one array: the upper bound on a box of some width."""
    return lambda x: enclose(fn)((x, x + 0.25)).hi


# -------------------------------------------------------------------------------- numbers with a static scale
class Fixed:
    """The number ``digits * 2**-scale``."""

    def __init__(self, digits, scale):
        self.digits, self.scale = digits, scale


rb.tree.register_node(
    Fixed, lambda f: ((f.digits,), f.scale), lambda scale, children: Fixed(*children, scale)
)
fixed = RuleTable("fixed_of_test_strangers", doc="(op, *fixed) -> Fixed")


def at_scale(x, scale):
    return x.digits if x.scale == scale else lax.mul(x.digits, 2 ** (scale - x.scale))


@fixed.primitive(lax.add, lax.sub)
def add_fixed(op, x, y):
    scale = max(x.scale, y.scale)
    return Fixed(op(at_scale(x, scale), at_scale(y, scale)), scale)


@fixed.primitive(lax.mul)
def mul_fixed(op, x, y):
    # Six digits after the point are kept, so that a loop comes to rest.
    scale = min(x.scale + y.scale, 6)
    return Fixed(lax.shift_right_arithmetic(op(x.digits, y.digits), x.scale + y.scale - scale), scale)


@fixed.kind("structural")
def move_fixed(op, *args):
    scale = max(a.scale for a in args)
    return Fixed(op(*[at_scale(a, scale) for a in args]), scale)


class FixedPoint(Interpreter):
    table = fixed

    def lift(self, value):
        return Fixed(value, 0)

    def type_of(self, payload):
        return rb.typeof(payload.digits)

    def join(self, a, b):
        return a if a.scale >= b.scale else b

    def force(self, payload, like):
        return Fixed(at_scale(payload, like.scale), like.scale)


def fixed_point(fn, *numbers):
    """The float that ``fn`` computes in fixed point."""
    out = run(
        FixedPoint(), fn, [Fixed(array_or_tracer(np.int32(digits)), scale) for digits, scale in numbers]
    )
    return float(out.digits) / 2**out.scale


# --------------------------------------------------------------------------------------------------- the laws
def smooth(x):
    return lax.tanh(x) * lax.exp(x) - x * 0.5


def through_a_call(x):
    return rb.jit(lambda y: y * y * y - 1.0)(x) + x


def through_a_scan(x):
    carry, _ = lax.scan(lambda c, i: (c * x + 0.5, None), x, None, length=3)
    return carry


def through_a_branch(x):
    return lax.cond(True, lambda y: y * y, lambda y: y - 1.0, x)


def through_a_while(x):
    return lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * x), (0, x))[1]


FUNCTIONS = [smooth, through_a_call, through_a_scan, through_a_branch, through_a_while]
NAMES = [f.__name__ for f in FUNCTIONS]
LO, HI = np.float32(0.25), np.float32(0.75)


def difference(fn, x, step=1e-2):
    return (float(fn(np.float32(x + step))) - float(fn(np.float32(x - step)))) / (2 * step)


@pytest.mark.parametrize("fn", FUNCTIONS, ids=NAMES)
def test_the_box_contains_sampled_values(fn):
    box = enclose(fn)((LO, HI))
    values = [float(fn(np.float32(x))) for x in np.linspace(LO, HI, 17)]
    assert float(box.lo) <= min(values) + 1e-6 and max(values) <= float(box.hi) + 1e-6


@pytest.mark.parametrize("fn", FUNCTIONS, ids=NAMES)
def test_compiled_it_is_the_same(fn):
    np.testing.assert_allclose(rb.jit(enclose(fn))((LO, HI)), enclose(fn)((LO, HI)), rtol=1e-5)
    np.testing.assert_allclose(enclose(rb.jit(fn))((LO, HI)), enclose(fn)((LO, HI)), rtol=1e-5)


@pytest.mark.parametrize("fn", FUNCTIONS, ids=NAMES)
def test_mapped_it_is_a_loop_over_boxes(fn):
    lows = np.float32([0.1, 0.2, 0.3])
    mapped = rb.vmap(enclose(fn))(Box(lows, lows + 1))
    singles = [enclose(fn)((lo, lo + 1)) for lo in lows]
    np.testing.assert_allclose(mapped.lo, [float(b.lo) for b in singles], rtol=1e-5)
    np.testing.assert_allclose(mapped.hi, [float(b.hi) for b in singles], rtol=1e-5)
    inside = enclose(rb.vmap(fn))((lows, lows + 1))
    np.testing.assert_allclose(inside.hi, mapped.hi, rtol=1e-5)


@pytest.mark.parametrize("fn", FUNCTIONS, ids=NAMES)
def test_the_bounds_have_derivatives(fn):
    _, forward = rb.jvp(upper(fn), (LO,), (np.float32(1),))
    np.testing.assert_allclose(forward, difference(upper(fn), LO), rtol=2e-2, atol=1e-3)
    if fn is not through_a_while:
        np.testing.assert_allclose(rb.grad(upper(fn))(LO), forward, rtol=1e-5)


@pytest.mark.parametrize("fn", [f for f in FUNCTIONS if f is not through_a_while], ids=lambda f: f.__name__)
def test_derivatives_have_bounds(fn):
    box = enclose(rb.grad(fn))((LO, HI))
    slopes = [float(rb.grad(fn)(np.float32(x))) for x in np.linspace(LO, HI, 17)]
    assert float(box.lo) <= min(slopes) + 1e-5 and max(slopes) <= float(box.hi) + 1e-5


TRANSFORMS = {
    "jit": rb.jit,
    "grad": rb.grad,
    "upper": upper,
    "jvp": lambda f: lambda x: rb.jvp(f, (x,), (x,))[1],
}


@pytest.mark.parametrize("order", list(permutations(TRANSFORMS, 3)), ids="-".join)
def test_any_order_of_three_is_as_without_jit(order):
    """jit changes no value, wherever it stands among the others; and the rest agrees with differences."""

    def composed(names):
        fn = lambda x: x * x * x - x * 0.5
        for name in names:
            fn = TRANSFORMS[name](fn)
        return fn

    got = float(composed(order)(LO))
    assert np.isfinite(got)
    np.testing.assert_allclose(got, float(composed([n for n in order if n != "jit"])(LO)), rtol=1e-5)
    for earlier, later in pairwise(order):
        if later == "grad":
            inner = composed(order[: order.index(earlier) + 1])
            np.testing.assert_allclose(rb.grad(inner)(LO), difference(inner, LO), rtol=2e-2, atol=1e-3)


# ----------------------------------------------------------------------------------------------- static parts
def test_a_static_part_grows_to_rest_in_a_loop():
    """The scale of the carry is 0 before the loop and 6 in the end: joined until it is stable, forced."""

    def fn(x):
        return lax.fori_loop(0, 4, lambda i, c: c * x + 1, 1)

    assert fixed_point(fn, (3, 1)) == pytest.approx(1 + 1.5 + 1.5**2 + 1.5**3 + 1.5**4, abs=0.2)


def test_branches_of_different_scales_meet():
    def fn(x, y):
        return lax.cond(y_is_larger, lambda: x * x, lambda: x + y)

    y_is_larger = True
    assert fixed_point(fn, (3, 1), (1, 0)) == 2.25
    y_is_larger = False
    assert fixed_point(fn, (3, 1), (1, 0)) == 2.5


def test_scanned_payloads_keep_their_scale():
    def fn(xs):
        return lax.scan(lambda c, x: (c + x, c), 0, xs)[0]

    out = run(FixedPoint(), fn, [Fixed(array_or_tracer(np.int32([1, 2, 3])), 2)])
    assert (int(out.digits), out.scale) == (6, 2)


def test_static_parts_through_a_call_under_a_trace():
    def fn(digits):
        out = run(FixedPoint(), rb.jit(lambda x: x * x + 1), [Fixed(digits, 1)])
        assert out.scale == 2
        return out.digits

    assert int(rb.jit(fn)(3)) == 13
    assert rb.vmap(fn)(np.int32([1, 3])).tolist() == [5, 13]


def test_an_interpreter_without_join_is_told_what_to_write():
    class Joinless(FixedPoint):
        join = Interpreter.join

    with pytest.raises(TypeError, match=r"Joinless must define join\(a, b\) and force\(payload, like\)"):
        run(
            Joinless(),
            lambda x: lax.fori_loop(0, 4, lambda i, c: c * x, x),
            [Fixed(array_or_tracer(np.int32(3)), 1)],
        )


def test_a_predicate_of_the_transformation_is_refused_with_the_line():
    table = RuleTable("with_comparison_of_test_strangers")
    table.kind("elementwise")(increasing)

    class Deciding(Enclose):
        pass

    Deciding.table = table

    def fn(x):
        return lax.cond(x > 0.0, lambda: 1.0, lambda: 2.0)

    with pytest.raises(TypeError) as caught:
        run(Deciding(), fn, [Box(LO, HI)])
    assert re.search(r"decided by a value of type \S+ that depends on transformed inputs", str(caught.value))
    assert f"test_strangers.py:{fn.__code__.co_firstlineno + 1}" in str(caught.value)
    assert "predicate(op, args)" in str(caught.value)


# -------------------------------------------------------------------------------------------------- a counter
class Counted(NamedTuple):
    value: Any


class Everything:
    """A table with one rule, for whatever comes: run it below and note its name."""

    name = "count_of_test_strangers"

    def __init__(self, seen):
        self.seen = seen

    def lookup(self, primitive):
        def count(op, *args):
            self.seen.append(primitive.name)
            out = op(*[a.value for a in args])
            return [Counted(o) for o in out] if primitive.multiple_results else Counted(out)

        return count

    def explain(self, primitive, platform=None):
        return None


class Count(Interpreter):
    def __init__(self):
        self.seen = []
        self.table = Everything(self.seen)

    def lift(self, value):
        return Counted(value)

    def type_of(self, payload):
        return rb.typeof(payload.value)


def test_what_a_gradient_computes_can_be_counted():
    counter = Count()
    out = run(counter, rb.grad(lambda x: lax.sin(x) * x), [Counted(array_or_tracer(0.5))])
    assert float(out.value) == pytest.approx(np.cos(0.5) * 0.5 + np.sin(0.5))
    assert counter.seen.count("sin") == counter.seen.count("cos") == 1
    assert {"sin", "cos", "mul"} <= set(counter.seen)


@pytest.mark.usefixtures("on_the_cpu")
def test_intervals_go_through_collectives_solvers_and_platforms():
    """With no line for any of them: by kinds, and through the programs that they carry."""
    x = np.array([1.0, -2.0, 0.5], "f4")

    def shares(v):
        there = lax.platform_dependent(v, cpu=lambda v: v * 2.0, default=lambda v: v)
        return lax.psum(there, "i") + lax.all_gather(there, "i")[0]

    got = rb.jit(rb.vmap(rb.jit(lambda v: enclose(rb.jit(shares))((v, v + 1.0))), axis_name="i"))(x)
    low = x * 2.0
    np.testing.assert_allclose(got.lo, np.full(3, low.sum() + low[0]), rtol=1e-6)
    np.testing.assert_allclose(got.hi, np.full(3, (low + 2).sum() + low[0] + 2), rtol=1e-6)

    def half(v):
        return lax.custom_linear_solve(lambda x: x * 2.0, v, lambda matvec, b: b * 0.5, symmetric=True)

    for f in (half, rb.jit(half)):
        box = enclose(f)((1.0, 3.0))
        assert (float(box.lo), float(box.hi)) == (0.5, 1.5)

    def root(v):
        return lax.custom_root(lambda x: x * 2.0 - v, v, lambda f, x: v * 0.5, lambda g, y: y / g(1.0))

    box = enclose(rb.jit(root))((1.0, 3.0))
    assert (float(box.lo), float(box.hi)) == (0.5, 1.5)
