"""The checker: every way in which a program can be broken is caught, and the equation named."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import JaxprTypeError
from rabbet.extend.passes import ClosedJaxpr, Equation, Jaxpr, Literal, Var, check, stage
from rabbet.extend.primitive import Primitive
from rabbet.extend.primitive import jit as jit_call
from rabbet.program.avals import ShapedArray
from rabbet.program.effects import Effect

from . import toys

F = ShapedArray((), "float32")
F3 = ShapedArray((3,), "float32")
WEAK = ShapedArray((), "float32", True)
I3 = ShapedArray((3,), "int32")


def eqn(primitive, inputs, outputs, **params):
    return Equation(primitive.op(**params), inputs, outputs)


def refused(program, *parts):
    with pytest.raises(JaxprTypeError) as caught:
        check(program)
    for part in parts:
        assert part in str(caught.value), str(caught.value)


def test_a_good_program_is_returned():
    closed = stage(lambda x: [toys.jit(lambda y: y * y + np.ones(3, np.float32))(x)], [F3])
    assert check(closed) is closed
    assert check(closed.jaxpr) is closed.jaxpr


def test_what_is_no_program():
    refused(lambda x: x, "a program is a Jaxpr or a ClosedJaxpr, got function")


def test_a_variable_that_is_never_defined():
    a, b, c = Var(F), Var(F), Var(F)
    refused(
        Jaxpr([a], [c], [eqn(lax.add, [a, b], [c])]), "equation 0, add reads Var:f32[] before it is defined"
    )


def test_a_variable_that_is_defined_later():
    a, b, c = Var(F), Var(F), Var(F)
    refused(
        Jaxpr([a], [c], [eqn(lax.sin, [b], [c]), eqn(lax.sin, [a], [b])]),
        "equation 0, sin",
        "before it is defined",
    )


def test_a_variable_that_is_defined_twice():
    a, b = Var(F), Var(F)
    refused(
        Jaxpr([a], [b], [eqn(lax.sin, [a], [b]), eqn(lax.cos, [a], [b])]), "defined twice", "equation 1, cos"
    )
    refused(Jaxpr([a, a], [a], []), "defined twice", "an input")
    refused(Jaxpr([a], [a], [eqn(lax.sin, [a], [a])]), "defined twice", "equation 0, sin")
    refused(Jaxpr([a], [a], [], constvars=[a]), "defined twice")


def test_an_output_that_is_not_defined():
    refused(Jaxpr([Var(F)], [Var(F)], []), "an output reads Var:f32[] before it is defined")


@pytest.mark.parametrize(
    "wrong", [F, WEAK, I3, ShapedArray((4,), "float32"), ShapedArray((3,), "float32", True)]
)
def test_outputs_of_another_type_than_the_shape_rule_gives(wrong):
    a, b = Var(F3), Var(wrong)
    refused(
        Jaxpr([a], [b], [eqn(lax.sin, [a], [b])]),
        "equation 0, sin: its shape rule gives f32[3]",
        wrong.str_short(),
    )


def test_a_weak_type_is_named_in_the_message():
    a, b = Var(F), Var(WEAK)
    refused(Jaxpr([a], [b], [eqn(lax.sin, [a], [b])]), "f32[], its outputs are f32[] (weak)")


def test_too_few_or_too_many_outputs():
    a, b, c = Var(F), Var(F), Var(F)
    refused(Jaxpr([a], [b], [eqn(lax.sin, [a], [b, c])]), "equation 0, sin")
    refused(Jaxpr([a], [a], [eqn(lax.sin, [a], [])]), "equation 0, sin")


def test_inputs_that_the_shape_rule_refuses():
    a, b, c = Var(F3), Var(ShapedArray((4,), "float32")), Var(F3)
    refused(Jaxpr([a, b], [c], [eqn(lax.add, [a, b], [c])]), "equation 0, add", "4")
    d, e = Var(I3), Var(I3)
    refused(Jaxpr([d], [e], [eqn(lax.sin, [d], [e])]), "equation 0, sin")


def test_a_wrong_number_of_inputs():
    a, b = Var(F), Var(F)
    refused(Jaxpr([a], [b], [eqn(lax.add, [a], [b])]), "equation 0, add")


def test_a_wrong_parameter():
    a, b = Var(F3), Var(F)
    refused(Jaxpr([a], [b], [eqn(lax.sin, [a], [b], axis=1)]), "equation 0, sin[axis=1]")


def test_a_literal_that_is_no_scalar():
    a, b = Var(F3), Var(F3)
    refused(Jaxpr([a], [b], [eqn(lax.add, [a, Literal(1.0, F3)], [b])]), "has a literal that is not a scalar")
    refused(Jaxpr([], [Literal(1.0, F3)], []), "an output has a literal that is not a scalar")


@pytest.mark.parametrize("value", ["text", None, np.ones(3)])
def test_a_literal_that_is_no_number(value):
    refused(Jaxpr([], [Literal(value, F)], []), "an output", "literal")


def test_what_is_neither_variable_nor_literal():
    a, b = Var(F), Var(F)
    refused(Jaxpr([2.0], [], []), "an input must be a typed variable, got 2.0")
    refused(Jaxpr([Literal(1.0, F)], [], []), "an input must be a typed variable")
    refused(Jaxpr([a], [b], [eqn(lax.add, [a, 1.0], [b])]), "equation 0, add", "1.0")
    refused(Jaxpr([Var("f32")], [], []), "an input must be a typed variable")
    refused(Jaxpr([a], [2.0], []), "an output", "2.0")
    refused(Jaxpr([a], [[a]], []), "an output")


def test_a_broken_body_is_found_inside_its_equation():
    a, b, c = Var(F), Var(F), Var(F)
    body = Jaxpr([a], [b], [])
    refused(
        Jaxpr([c], [b], [eqn(jit_call, [c], [b], jaxpr=body, name="broken")]),
        "in jaxpr of equation 0", "an output reads Var:f32[] before it is defined",
    )  # fmt: skip


def test_a_body_may_not_use_variables_of_the_program_around_it():
    a, b, c = Var(F), Var(F), Var(F)
    body = Jaxpr([b], [a], [])
    refused(
        Jaxpr([a], [c], [eqn(jit_call, [a], [c], jaxpr=body, name="f")]),
        "in jaxpr of equation 0",
        "before it is defined",
    )


def test_a_body_may_not_capture():
    a, b, c, d = Var(F), Var(F), Var(F), Var(F)
    body = Jaxpr([b], [a], [], constvars=[a])
    refused(
        Jaxpr([c], [d], [eqn(jit_call, [c], [d], jaxpr=body, name="f")]),
        "jaxpr of equation 0",
        "captures arrays",
    )


def test_effects_that_are_not_declared():
    noisy = Primitive("noisy_of_test_checking", lambda x: x, kinds=("effect",))
    a, b = Var(F), Var(F)
    refused(Jaxpr([a], [b], [eqn(noisy, [a], [b])], effects=frozenset()), "noisy_of_test_checking", "effect")
    check(Jaxpr([a], [b], [eqn(noisy, [a], [b])], effects=frozenset([Effect("noisy_of_test_checking")])))
    check(Jaxpr([a], [b], [eqn(noisy, [a], [b])]))


# ---------------------------------------------------------------------------------------- captured arrays
def test_a_wrong_number_of_captured_arrays():
    a = Var(F)
    refused(ClosedJaxpr(Jaxpr([], [a], [], constvars=[a]), []), "captures 1 arrays, 0 were given")


@pytest.mark.parametrize("const", [np.ones(4, np.float32), np.ones(3, np.int32), 1.0, "text"])
def test_a_captured_array_of_another_type(const):
    a = Var(F3)
    refused(ClosedJaxpr(Jaxpr([], [a], [], constvars=[a]), [const]), "f32[3]")


def test_captured_arrays_of_the_right_type():
    a = Var(F3)
    for const in (np.ones(3, np.float32), rb.device_put(np.ones(3, np.float32))):
        check(ClosedJaxpr(Jaxpr([], [a], [], constvars=[a]), [const]))
