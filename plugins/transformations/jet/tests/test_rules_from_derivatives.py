"""The rule for primitives without one: a stranger's primitive needs to know nothing of Taylor mode."""

import numpy as np
import pytest
from rabbet import lax
from rabbet.errors import MissingRule
from rabbet.experimental.jet import jet
from rabbet.extend.primitive import Dual, Primitive, Zero, zero_tangent
from rabbet.extend.transform import lower, typeof
from rabbet.testing.draws import device_array


def stranger(name, by, derivative, **how):
    """A primitive that is computed as ``by`` is, with a derivative ``(op, x, out, tangent) -> tangent``."""
    primitive = Primitive(f"{name}_of_test_derived", lambda x: x, **how)
    primitive.rule("lower")(lambda op, x: lower.lookup(by)(op, x))

    @primitive.rule("jvp")
    def jvp(op, x):
        out = op(x.primal)
        return Dual(out, derivative(op, x.primal, out, x.tangent))

    return primitive


CALLS = []


def by_itself(op, x, out, tangent):
    CALLS.append("exp")
    return lax.mul(out, tangent)


def by_another(op, x, out, tangent):
    return lax.mul(lax.cos(x), tangent)


def by_its_linearity(op, x, out, tangent):
    return op(tangent)


MADE = {
    "exp": (stranger("exp", lax.exp, by_itself), lax.exp),
    "sin": (stranger("sin", lax.sin, by_another, kinds=("elementwise",)), lax.sin),
    "neg": (stranger("neg", lax.neg, by_its_linearity), lax.neg),
}


@pytest.mark.parametrize("name", MADE)
def test_it_follows_from_the_derivative(name):
    mine, known = MADE[name]
    x = device_array(np.array([0.3, -0.2]))
    series = [
        device_array(np.array(c)) for c in ([1.0, 0.5], [0.2, 2.0], [-1.0, 0.1], [0.3, 0.0], [1.0, 1.0])
    ]
    (a, mine_terms), (b, terms) = jet(mine, (x,), (series,)), jet(known, (x,), (series,))
    np.testing.assert_allclose(a, b)
    np.testing.assert_allclose(np.stack(mine_terms), np.stack(terms), rtol=1e-13, atol=1e-14)


def test_a_derivative_is_looked_at_once_for_operands_of_one_type():
    x = np.float32([1, 2, 3])
    CALLS.clear()
    for _ in range(2):
        jet(MADE["exp"][0], (x,), ([x, x, x, x],))
    assert CALLS == ["exp"]


def test_a_derivative_that_is_zero_makes_a_constant():
    step = Primitive("step_of_test_derived", lambda x: x)
    step.rule("lower")(lambda op, x: lower.lookup(lax.floor)(op, x))
    step.rule("jvp")(lambda op, x: Dual(op(x.primal), zero_tangent(typeof(x.primal))))
    value, terms = jet(lambda x: lax.mul(step(x), x), (2.5,), ([1.0, 0.0],))
    assert [float(t) for t in (value, *terms)] == [5.0, 2.0, 0.0]


def test_only_some_operands_move():
    seen = []
    weighed = Primitive("weighed_of_test_derived", lambda x, y: x)
    weighed.rule("lower")(lambda op, x, y: lower.lookup(lax.mul)(op, x, y))

    @weighed.rule("jvp")
    def jvp(op, x, y):
        seen.append((type(x.tangent) is Zero, type(y.tangent) is Zero))
        parts = [lax.mul(d.tangent, o.primal) for d, o in ((x, y), (y, x)) if type(d.tangent) is not Zero]
        return Dual(op(x.primal, y.primal), parts[0] if len(parts) == 1 else lax.add(*parts))

    one = [np.float32(1.0), np.float32(0.0)]
    assert [float(t) for t in jet(lambda x: weighed(x, np.float32(3.0)), (np.float32(2.0),), (one,))[1]] == [
        3,
        0,
    ]
    x, y = np.float32(2.0), np.float32(3.0)
    assert [float(t) for t in jet(weighed, (x, y), (one, one))[1]] == [5, 2]
    assert seen == [(False, True), (False, False)]


def test_several_results():
    both = Primitive("both_of_test_derived", lambda x: (x, x), multiple_results=True)
    both.rule("lower")(lambda op, x: [x, x])
    both.rule("jvp")(
        lambda op, x: [Dual(p, t) for p, t in zip(op(x.primal), [x.tangent, zero_tangent(typeof(x.primal))])]
    )
    _, (first, second) = jet(lambda x: both(x), (2.0,), ([1.0, 3.0],))
    assert [float(t) for t in first + second] == [1, 3, 0, 0]


def test_a_primitive_without_a_derivative_says_what_is_missing():
    mute = Primitive("mute_of_test_derived", lambda x: x)
    mute.rule("lower")(lambda op, x: x)
    with pytest.raises(MissingRule, match="no 'jet' rule for primitive 'mute_of_test_derived'") as caught:
        jet(mute, (1.0,), ([1.0],))
    assert "or write @mute_of_test_derived.rule('jvp'), from which it follows" in str(caught.value)
    assert "test_rules_from_derivatives.py" in str(caught.value)
