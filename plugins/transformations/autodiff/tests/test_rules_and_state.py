"""Functions with derivative rules under an interpreter that threads a state: the state's derivative is that
of what is written into it, never a silent zero.
"""

import pytest
import rabbet as rb
from rabbet import lax, typeof
from rabbet.extend.transform import Interpreter, RuleTable, run

rnp = pytest.importorskip("rabbet.numpy")
pytestmark = pytest.mark.needs("jit", "numpy", "vmap")

total = RuleTable("total_of_test_rules", doc="(op, *values) -> value")


@total.otherwise(before_decompositions=True)
def as_it_is(op, *values):
    return op(*values)


class Total(Interpreter):
    """Payload: the value. State: the sum of all results so far."""

    table = total
    threads = carries = True

    def __init__(self, stops):
        self.state, self.stops = rnp.float32(0), stops

    def key(self):
        return Total, self.stops

    def lift(self, value):
        return value

    def type_of(self, value):
        return typeof(value)

    def wrap(self, value):
        if typeof(value).dtype == "float32":
            self.state = self.state + (lax.stop_gradient(value) if self.stops else value)
        return value

    def aside(self):
        inner = self.fresh()
        inner.wrap = lambda value: value
        return inner


def with_total(fn, stops=False):
    def run_with(x):
        interpreter = Total(stops)
        return run(interpreter, fn, [x]), interpreter.state

    return run_with


@rb.custom_jvp
def forwards(x):
    return x * x


forwards.defjvp(lambda primals, tangents: (forwards(*primals), 2 * primals[0] * tangents[0]))


@rb.custom_vjp
def backwards(x):
    return x * x


backwards.defvjp(lambda x: (x * x, x), lambda x, ct: (2 * x * ct,))

AROUND = {
    "alone": lambda f: f,
    "jit": rb.jit,
    "scan": lambda f: lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0],
    "cond": lambda f: lambda x: lax.cond(x > 0, f, lambda x: x, x),
}
WAYS = {
    "grad": lambda h: rb.grad(h)(1.5),
    "jit": lambda h: rb.jit(rb.grad(h))(1.5),
    "vmap": lambda h: rb.vmap(rb.grad(h))(rnp.array([1.5]))[0],
}


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("rule", [forwards, backwards])
def test_a_state_has_its_derivative(rule, around):
    enters = AROUND[around](lambda x: rule(x * 2.0))
    made_inside = AROUND[around](rule)
    for function, wanted in ((enters, 2 + 8 * 1.5), (made_inside, 2 * 1.5)):
        for way in WAYS.values():
            slope = way(lambda x, f=function: with_total(f)(x)[1])
            assert float(slope) == wanted
    if rule is forwards:
        assert float(rb.jvp(with_total(enters), (1.5,), (1.0,))[1][1]) == 2 + 8 * 1.5


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("rule", [forwards, backwards])
def test_a_state_that_is_not_differentiated_goes_through(rule, around):
    function = AROUND[around](lambda x: rule(x * 2.0))
    for way in WAYS.values():
        assert float(way(lambda x: with_total(function, True)(x)[0])) == 12
    assert float(with_total(lambda x: rule(x * 2.0))(1.5)[1]) == 12
