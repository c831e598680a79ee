"""Programs as data and as text: evaluation, the parts, and JAX's printed form to the letter."""

import gc
import pickle
import weakref

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.passes import (
    ClosedJaxpr,
    Equation,
    Jaxpr,
    Literal,
    Var,
    bodies_of,
    check,
    effects_of,
    evaluate,
    stage,
)
from rabbet.extend.primitive import Effect, Primitive
from rabbet.extend.rules import Enclosing
from rabbet.extend.transform import context
from rabbet.program import python_scalars
from rabbet.program.avals import ShapedArray
from rabbet.program.jaxpr import last_uses

from . import toys

I = ShapedArray((), "int32", True)
F = ShapedArray((), "float32")
F3 = ShapedArray((3,), "float32")
ONES = np.ones(3, np.float32)


def staged(fn, *avals):
    return stage(lambda *xs: [fn(*xs)], avals)


def text(fn, *avals):
    return str(stage(fn, avals))


# ----------------------------------------------------------------------------------------------- printing
def test_the_issues_example():
    def f(u, v):
        w = u + v
        return w**2

    assert str(staged(f, I, I)) == (
        "{ lambda ; a:i32[] b:i32[]. let\n"
        "    c:i32[] = add a b\n"
        "    d:i32[] = integer_pow[y=2] c\n"
        "  in (d,) }"
    )  # fmt: skip


@pytest.mark.narrow
def test_literals_are_shown_with_their_types():
    lines = text(lambda x: [x * 2.0, 3.0, np.float32(0.5), True, 1], F).splitlines()
    assert lines[1:] == [
        "    b:f32[] = mul a 2.0:f32[]",
        "  in (b, 3.0:f32[], 0.5:f32[], True:bool[], 1:i32[]) }",
    ]


def test_an_int_beside_floats_is_shown_as_the_float_that_it_is():
    assert "add a 1.0:f32[]" in text(lambda x: [x + 1], F)


def test_captured_arrays_stand_before_the_inputs():
    assert text(lambda x: [x + ONES], F3) == (
        "{ lambda a:f32[3]; b:f32[3]. let\n"
        "    c:f32[3] = add b a\n"
        "  in (c,) }"
    )  # fmt: skip


def test_no_inputs_no_outputs_no_equations():
    assert text(lambda: []) == "{ lambda ; . let\n  in () }"
    assert text(lambda x: [x], F) == "{ lambda ; a:f32[]. let\n  in (a,) }"


def test_several_results_and_parameters():
    def fn(x):
        return [lax.reduce_sum(x, (0,)), lax.reshape(x, (3, 1))]

    assert text(fn, F3) == (
        "{ lambda ; a:f32[3]. let\n"
        "    b:f32[] = reduce_sum[axes=(0,)] a\n"
        "    c:f32[3,1] = reshape[new_sizes=(3, 1)] a\n"
        "  in (b, c) }"
    )


def test_bodies_are_nested_and_indented():
    def square(x):
        return x * x

    assert text(lambda x: [toys.jit(square)(x) + 1.0], F) == (
        "{ lambda ; a:f32[]. let\n"
        "    b:f32[] = jit[\n"
        "      name=square inline=False\n"
        "      jaxpr={ lambda ; c:f32[]. let\n"
        "          d:f32[] = mul c c\n"
        "        in (d,) }\n"
        "    ] a\n"
        "    e:f32[] = add b 1.0:f32[]\n"
        "  in (e,) }"
    )


def test_names_go_on_after_z():
    closed = stage(lambda *xs: [xs[-1]], [F] * 80)
    head = str(closed).splitlines()[0]
    assert (
        " z:f32[] ba:f32[] bb:f32[]" in head
        and " bz:f32[] ca:f32[]" in head
        and head.endswith(" da:f32[] db:f32[]. let")
    )
    assert str(closed).splitlines()[-1] == "  in (db,) }"


def test_a_program_prints_the_same_twice():
    closed = staged(lambda x: lax.sin(x) * 2.0, F)
    assert str(closed) == str(closed) == repr(closed.jaxpr) == f"{closed}"


def test_dtypes_and_functions_in_parameters():
    line = text(lambda x: [x.astype("int32")], F).splitlines()[1]
    assert line.startswith("    b:i32[] = convert_element_type[") and "int32" in line and "<" not in line
    p = Primitive("with_function_of_test_jaxpr", lambda x, f: x)
    assert text(lambda x: [p(x, f=len)], F).splitlines()[1] == "    b:f32[] = with_function_of_test_jaxpr a"


# -------------------------------------------------------------------------------------------------- parts
def test_the_fields_names_for_the_parts():
    closed = staged(lambda x: x + 1.0, F)
    assert closed.eqns is closed.jaxpr.eqns is closed.jaxpr.equations
    (eqn,) = closed.eqns
    assert eqn.primitive is lax.add and eqn.params == {}
    assert eqn.invars is eqn.inputs and eqn.outvars is eqn.outputs
    assert closed.jaxpr.in_avals == (F,) and closed.out_avals == (F,)
    assert "add" in repr(eqn)
    assert repr(closed.jaxpr.invars[0]) == "Var:f32[]"
    assert repr(Literal(2.0, F)) == "2.0:f32[]"


def test_bodies_of_an_operator():
    body = staged(lambda x: x, F).jaxpr
    p = Primitive("with_bodies_of_test_jaxpr", lambda x, **params: x, kinds=("body",))
    assert bodies_of(p.op(cond=body, branches=(body, body), n=3)) == [
        ("cond", body), ("branches[0]", body), ("branches[1]", body),
    ]  # fmt: skip
    assert bodies_of(lax.sin.op()) == []


def test_last_uses():
    closed = staged(lambda x, y: lax.sin(x) * y, F, F)
    (a, b), (sin, mul) = closed.jaxpr.invars, closed.eqns
    assert last_uses(closed.jaxpr) == {a: 0, b: 1, sin.outputs[0]: 1, mul.outputs[0]: 2}


def test_once_computes_once_per_key():
    jaxpr = staged(lambda x: x, F).jaxpr
    made = []
    for _ in range(2):
        assert jaxpr.once("key", lambda: made.append(1) or "value") == "value"
    assert made == [1]
    assert jaxpr.once("other", lambda: "other") == "other"
    with pytest.raises(ZeroDivisionError):
        jaxpr.once("failing", lambda: 1 / 0)
    assert jaxpr.once("failing", lambda: "later") == "later"


def test_what_is_kept_with_a_program_dies_with_it():
    jaxpr = staged(lambda x: x * x, F).jaxpr
    watched = weakref.ref(jaxpr)
    float(evaluate(jaxpr, [2.0])[0])
    del jaxpr
    gc.collect()
    assert watched() is None


# --------------------------------------------------------------------------------------------- evaluation
def test_evaluation_takes_consts_then_arguments():
    closed = staged(lambda x: x - ONES, F3)
    assert evaluate(closed.jaxpr, [ONES * 3], closed.consts)[0].tolist() == [2, 2, 2]


def test_a_wrong_number_of_arguments_is_refused():
    closed = staged(lambda x, y: x + y, F, F)
    with pytest.raises(TypeError, match="takes 2 arguments and 0 captured arrays, got 1 and 0"):
        evaluate(closed.jaxpr, [1.0])


def test_evaluation_under_an_interpreter():
    closed = staged(lambda x: x * x - 1.0, F)
    box = toys.enclose(lambda x: evaluate(closed.jaxpr, [x])[0])((2.0, 3.0))
    assert [float(v) for v in box] == [3.0, 8.0]


def test_evaluation_gives_operations_the_lines_of_the_program():
    seen = []

    def watched(op, x):
        seen.append(context.where)
        return x

    p = Primitive("watching_of_test_jaxpr", lambda x: x)
    p.rule("enclose")(watched)
    closed = staged(lambda x: p(x), F)
    toys.enclose(lambda x: evaluate(closed.jaxpr, [x])[0])((1.0, 2.0))
    assert seen == [closed.eqns[0].where]
    assert context.where is None


def test_an_error_in_evaluation_leaves_the_line_as_it_was():
    closed = staged(lambda x: toys.jit(lax.sin)(x), F)
    with pytest.raises(rb.errors.MissingRule):
        toys.enclose(lambda x: evaluate(closed.jaxpr, [x])[0])((1.0, 2.0))
    assert context.where is None


def test_programs_may_be_written_by_hand():
    a, b, c = Var(F), Var(F), Var(F)
    jaxpr = Jaxpr(
        [a], [c], [Equation(lax.sin.op(), [a], [b]), Equation(lax.mul.op(), [b, Literal(2.0, F)], [c])]
    )
    assert float(evaluate(jaxpr, [0.5])[0]) == pytest.approx(2 * np.sin(0.5))
    assert ClosedJaxpr(jaxpr, []).effects == frozenset()


@pytest.mark.needs("cpu", "numpy")
@pytest.mark.parametrize("dtype", ["float64", "int64", "uint64", "complex128", "float32"])
def test_the_value_of_a_literal_is_a_number(dtype):
    x = lax.full((3,), 1, dtype)
    program = stage(lambda x: [lax.mul(x, python_scalars.typed(2, np.dtype(dtype)))], [x.aval]).jaxpr
    (value,) = [v.value for v in program.equations[0].inputs if type(v) is Literal]
    assert value == 2 and value - 1 == 1 and abs(value) == 2 and isinstance(value, np.number)
    assert complex(value) == 2 and np.asarray(value).dtype == dtype
    assert evaluate(program, [x])[0].dtype == dtype


@pytest.mark.needs("cpu")
def test_a_literal_that_a_pass_makes_keeps_its_64_bits():
    wide = ShapedArray((), "float64")
    x, y = Var(wide), Var(wide)
    one = Literal(np.float64(1) / 3, wide)
    program = check(Jaxpr([x], [y], [Equation(lax.mul.op(), [x, one], [y])]))
    (out,) = evaluate(program, [lax.full((), 1, "float64")])
    assert out.dtype == "float64" and out.item() == 1 / 3
    assert pickle.loads(pickle.dumps(one.value)).aval == wide


def test_programs_that_a_parameter_encloses_are_shown_and_count_and_are_not_rewritten():
    inner = stage(lambda x: [lax.sin(x)], [ShapedArray((), "float32")], "inner").jaxpr
    effects = frozenset([Effect("loud_of_test")])
    loud = Jaxpr(inner.invars, inner.outvars, inner.equations, [], effects, "inner")

    class Kernel(Enclosing):
        def programs(self):
            return [("body", loud)]

        def __str__(self):
            return "the kernel"

    p = Primitive("encloses_of_test_jaxpr", lambda x, kernel: x, kinds=("body",))
    op = p.op(kernel=Kernel())
    assert bodies_of(op) == [] and [e.name for e in effects_of(op)] == ["loud_of_test"]
    text = str(stage(lambda x: [p(x, kernel=op.params["kernel"])], [ShapedArray((), "float32")]).jaxpr)
    assert "kernel=the kernel" in text and "kernel.body={ lambda" in text and "= sin" in text
    assert "with effects" in text


def test_all_parameters_can_be_shown():
    """Those that are None, and those that a primitive has where nobody gives them."""
    x = rb.ShapeDtypeStruct((2, 2), "float32")
    product = lambda x: lax.dot_general(lax.sin(x), x, (((1,), (0,)), ((), ())))
    program = stage(lambda x: [product(x)], [rb.typeof(np.zeros(x.shape, x.dtype))]).jaxpr
    text = program.pretty_print(all_parameters=True)
    assert "sin[accuracy=None] a" in text and "precision=None" in text
    assert "None" not in program.pretty_print() and program.pretty_print() == str(program)
