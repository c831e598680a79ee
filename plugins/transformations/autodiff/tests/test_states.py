"""Derivatives through an interpreter that threads a state, of functions with derivative rules of their "
"own."""

import pytest
import rabbet as rb
from rabbet import lax, tree, typeof
from rabbet.extend.passes import stage
from rabbet.extend.transform import Interpreter, RuleTable, run

rules = RuleTable("summed_sizes", doc="(op, *values) -> value")


@rules.otherwise(before_decompositions=True)
def as_it_is(op, *values):
    return op(*values)


class Summed(Interpreter):
    """Its state is the sum of the squares of all results: a smooth function of what they are."""

    table = rules
    threads = carries = True

    def __init__(self):
        self.state = lax.full_like(1.0, 0.0)

    def key(self):
        return type(self)

    def lift(self, value):
        return value

    def type_of(self, value):
        return typeof(value)

    def wrap(self, value):
        if rb.dtypes.kind(typeof(value).dtype) == "f":
            self.state = self.state + value * value
        return value


def summed(fn, kind=Summed):
    def of(x):
        interpreter = kind()
        out = run(interpreter, fn, [x])
        return out, interpreter.state

    return of


@rb.custom_jvp
def forwards(x):
    return lax.sin(x) * x


@forwards.defjvp
def forwards_rule(primals, tangents):
    (x,), (t,) = primals, tangents
    return forwards(x), 10.0 * t  # a derivative that shows whose it is


@rb.custom_vjp
def backwards(x):
    return lax.sin(x) * x


backwards.defvjp(lambda x: (lax.sin(x) * x, x), lambda x, ct: (10.0 * ct,))


@rb.custom_rules
def both(x):
    return lax.sin(x) * x


both.def_rule("jvp")(lambda primals, tangents: (both(*primals), 10.0 * tangents[0]))
both.def_rule("vjp")(lambda x: (both(x), lambda ct: (10.0 * ct,)))

plain = summed(lambda x: lax.sin(x) * x)
FUNCTIONS = {"jvp": forwards, "vjp": backwards, "both": both}
X = 0.75


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("compiled", [False, True])
def test_in_reverse_values_have_the_rules_derivative_and_the_state_its_own(name, compiled):
    through = summed(FUNCTIONS[name])
    through = rb.jit(through) if compiled and hasattr(rb, "jit") else through
    assert [float(v) for v in through(X)] == [float(v) for v in plain(X)]
    assert float(rb.grad(lambda x: through(x)[0])(X)) == 10.0
    of_state, wanted = (rb.grad(lambda x, f=f: f(x)[1])(X) for f in (through, plain))
    assert float(of_state) == pytest.approx(float(wanted), rel=1e-5)
    assert float(rb.grad(lambda x: sum(through(x)))(X)) == pytest.approx(10.0 + float(wanted), rel=1e-5)


@pytest.mark.parametrize("name", ["jvp", "both"])
def test_forwards_too(name):
    _, (value, state) = rb.jvp(summed(FUNCTIONS[name]), (X,), (1.0,))
    _, (_, wanted) = rb.jvp(plain, (X,), (1.0,))
    assert float(value) == 10.0
    assert float(state) == pytest.approx(float(wanted), rel=1e-5)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_in_a_loop_the_rule_carries_values_and_states_add_up(name):
    twice = summed(lambda x: lax.scan(lambda c, _: (FUNCTIONS[name](c), None), x, None, length=2)[0])
    slope = rb.grad(lambda x: plain(x)[1])
    wanted = float(slope(X)) + 10.0 * float(slope(plain_parts(X)))
    assert float(rb.grad(lambda x: twice(x)[1])(X)) == pytest.approx(wanted, rel=1e-5)
    assert float(rb.grad(lambda x: twice(x)[0])(X)) == 100.0


def plain_parts(x):
    return lax.sin(x) * x


def test_a_loop_that_reverse_mode_cannot_go_through_keeps_its_rule():
    @rb.custom_jvp
    def halved(x):
        return lax.while_loop(lambda v: v > 0.1, lambda v: v * 0.5, x)

    halved.defjvp(lambda primals, tangents: (halved(*primals), 3.0 * tangents[0]))
    assert float(rb.grad(lambda x: summed(halved)(x)[0])(X)) == 3.0


def test_under_a_map_each_example_has_its_own():
    pytest.importorskip("rabbet_vmap")
    xs = [0.25, 0.75]
    batch = lax.concatenate([lax.full((1,), x) for x in xs], 0)
    for part in (0, 1):
        slope = rb.grad(lambda x, part=part: summed(forwards)(x)[part])
        assert rb.vmap(slope)(batch).tolist() == pytest.approx([float(slope(x)) for x in xs], rel=1e-5)


def test_a_state_may_be_said_to_have_no_derivative():
    class Still(Summed):
        state_moves = False

    assert float(rb.jvp(summed(forwards, Still), (X,), (1.0,))[1][1]) == 0.0
    assert float(rb.grad(lambda x: summed(backwards, Still)(x)[0])(X)) == 10.0


def test_what_forward_mode_inside_does_is_in_the_state():
    def slope(x):
        return rb.jvp(both, (x,), (1.0,))[1]

    class Counting(Summed):
        def wrap(self, value):
            self.state = self.state + 1.0
            return value

    assert float(summed(slope, Counting)(X)[1]) > float(summed(plain_parts, Counting)(X)[1])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_state_that_has_a_tangent_before_the_function_has_it_after(name):
    """The state comes from elsewhere, and the function's own argument does not move."""

    def after(before, x):
        interpreter = Summed()
        interpreter.state = before * before
        run(interpreter, FUNCTIONS[name], [x])
        return interpreter.state

    assert float(rb.grad(after)(3.0, X)) == 6.0
    both_slopes = [float(slope) for slope in rb.grad(after, argnums=(0, 1))(3.0, X)]
    of_x = float(rb.grad(lambda x: summed(plain_parts)(x)[1])(X))
    assert both_slopes == pytest.approx([6.0, of_x], rel=1e-6)


def test_what_a_body_is_given_leaves_nothing_of_outside_in_it():
    """`wrap` looks at the state also for the inputs of a body, which begins with the state that came in."""
    branches = summed(lambda y: lax.cond(y > 0, forwards, backwards, y))
    program = stage(lambda x: tree.leaves(branches(x)), [typeof(X)]).jaxpr
    (cond,) = [eqn for eqn in program.equations if eqn.primitive.name == "cond"]
    assert len(cond.inputs) == 3  # what decides, x and the state
