"""What custom_jvp says of rules and calls of the wrong form."""

import functools

import pytest
import rabbet as rb
from rabbet import lax


def wrong(rule, fun=lambda x: x * 2):
    f = rb.custom_jvp(fun)
    f.defjvp(rule)
    return rb.grad(lambda x: lax.reduce_sum(rb.tree.leaves(f(x))[0], axes=()))


@pytest.mark.parametrize(
    ("rule", "parts"),
    [
        (lambda p, t: p[0], ["pair (out, out_tangent)", "test_custom_jvp_messages.py"]),
        (lambda p, t: (p[0], (t[0],)), ["structure"]),
        (lambda p, t: (p[0], lax.broadcast(t[0], (2,))), ["f32[]", "f32[2]", "tangent"]),
        (lambda p, t: (p[0], t[0].astype("float16")), ["f32[]", "f16[]", "tangent"]),
        (lambda p, t: (p[0], "text"), ["text"]),
    ],
    ids=range(5),
)
def test_rules_of_the_wrong_form(rule, parts):
    with pytest.raises(TypeError) as caught:
        wrong(rule)(1.0)
    for part in parts:
        assert part in str(caught.value)
    assert lax.add(1, 2) == 3


@pytest.mark.needs("jit")
def test_a_rule_whose_output_is_not_the_functions():
    for rule in (
        lambda p, t: ((p[0],), (t[0],)),
        lambda p, t: (lax.broadcast(p[0], (2,)), lax.broadcast(t[0], (2,))),
    ):
        with pytest.raises(TypeError, match=r"returned .*structure|returned f32\[2\] for output number 0"):
            f = rb.custom_jvp(lambda x: x * 2)
            f.defjvp(rule)
            rb.jvp(rb.jit(f), (1.0,), (1.0,))


def test_a_function_without_a_rule():
    f = rb.custom_jvp(lambda x: x)
    with pytest.raises(AttributeError, match=r"test_custom_jvp_messages.py.* defjvp"):
        f(1.0)


def test_keyword_only_arguments_are_refused():
    f = rb.custom_jvp(lambda x, *, y: x * y)
    f.defjvp(lambda p, t: (p, t))
    with pytest.raises(TypeError, match="keyword-only arguments"):
        f(1.0, y=2.0)


def test_keyword_only_arguments_may_keep_their_defaults():
    def scaled(x, *, factor=2.0):
        return x * factor

    by_tangent = rb.custom_jvp(scaled)
    by_tangent.defjvp(lambda p, t: (by_tangent(*p), 5 * t[0]))
    by_residual = rb.custom_vjp(functools.partial(scaled, factor=3.0))
    by_residual.defvjp(lambda x: (by_residual(x), None), lambda _, t: (7 * t,))
    assert (by_tangent(1.0), rb.grad(by_tangent)(1.0)) == (2.0, 5.0)
    assert (by_residual(1.0), rb.grad(by_residual)(1.0)) == (3.0, 7.0)
    for function in (by_tangent, by_residual):
        with pytest.raises(TypeError, match=r"keyword-only arguments \['factor'\]"):
            function(1.0, factor=4.0)


def test_wrong_arguments_are_pythons_own_business():
    f = rb.custom_jvp(lambda x: x)
    with pytest.raises(TypeError, match="too many positional arguments"):
        f(1.0, 2.0)
    with pytest.raises(TypeError, match="missing a required argument"):
        f()


def test_custom_jvp_of_what_is_no_function():
    with pytest.raises(TypeError, match="custom_jvp takes a function, got int"):
        rb.custom_jvp(3)
