"""Staging: what a function computes is what the program computes, whatever it captured."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.functions import source_position
from rabbet.extend.passes import Literal, Var, check, consts_as_inputs, evaluate, stage
from rabbet.extend.primitive import Primitive
from rabbet.extend.transform import is_tracer, typeof
from rabbet.messages.source_positions import short_path
from rabbet.program.avals import ShapedArray
from rabbet.program.effects import Effect
from rabbet.program.python_scalars import typed_scalar

from . import toys

F3 = ShapedArray((3,), "float32")
F = ShapedArray((), "float32")
ONES = np.ones(3, np.float32)


def staged(fn, *avals):
    """The checked program of a function that returns one array."""
    return check(stage(lambda *xs: [fn(*xs)], avals))


def run(closed, *args):
    return evaluate(closed.jaxpr, list(args), closed.consts)


def names(closed):
    return [eqn.primitive.name for eqn in closed.eqns]


# --------------------------------------------------------------------------------------- what is recorded
def test_each_operation_is_one_equation_in_order():
    closed = staged(lambda x: lax.sin(x) * lax.cos(x) + x, F3)
    assert names(closed) == ["sin", "cos", "mul", "add"]
    assert closed.in_avals == closed.out_avals == (F3,)
    assert closed.jaxpr.constvars == [] and closed.consts == []


@pytest.mark.narrow
def test_operations_on_known_values_are_recorded_too():
    assert names(staged(lambda x: x + lax.exp(2.0), F)) == ["exp", "add"]


def test_operations_that_nobody_uses_are_recorded():
    def fn(x):
        lax.sin(x)
        return x

    assert names(staged(fn, F)) == ["sin"]


def test_the_program_computes_what_the_function_computes():
    host = np.float32([0.5, 1.5, 2.5])

    def fn(x, y):
        return lax.exp(x) * y - lax.reduce_sum(x * 2.0, (0,))

    closed = staged(fn, F3, F)
    x, y = rb.device_put(host), rb.device_put(np.float32(3))
    np.testing.assert_allclose(run(closed, x, y)[0], fn(x, y), rtol=1e-6)


def test_each_equation_knows_the_users_line():
    def fn(x):
        y = lax.sin(x)
        return y + 1.0

    closed = staged(fn, F)
    places = [source_position(eqn.where) for eqn in closed.eqns]
    first = fn.__code__.co_firstlineno
    assert [p.line for p in places] == [first + 1, first + 2]
    assert {short_path(p.file) for p in places} == {short_path(__file__)}


def test_a_program_bears_the_functions_name():
    def my_model(x):
        return [x]

    assert stage(my_model, [F]).jaxpr.name == "my_model"
    assert stage(my_model, [F], "other").jaxpr.name == "other"


# ------------------------------------------------------------------------------------------------ outputs
def test_outputs_that_are_inputs_constants_and_repeated():
    closed = check(stage(lambda x, y: [y, x, x, 2.0, np.float32(3), ONES], [F, F3]))
    a, b = closed.jaxpr.invars
    out = closed.jaxpr.outvars
    assert out[:3] == [b, a, a]
    assert type(out[3]) is Literal and out[3].value == 2.0 and out[3].aval.weak_type
    assert type(out[4]) is Literal and not out[4].aval.weak_type
    assert type(out[5]) is Var and out[5] is closed.jaxpr.constvars[0]
    outs = run(closed, 1.0, ONES)
    assert float(outs[3]) == 2.0 and outs[5] is ONES


def test_a_function_of_nothing():
    closed = check(stage(lambda: [lax.add(1.0, 2.0)], []))
    assert float(run(closed)[0]) == 3.0
    assert check(stage(lambda: [], [])).out_avals == ()


def test_multiple_results_are_variables_of_one_equation():
    two = Primitive("two_of_test_staging", lambda x: (x, x.update(shape=())), multiple_results=True)
    closed = check(stage(lambda x: two(x), [F3]))
    assert len(closed.eqns) == 1
    assert closed.out_avals == (F3, F)


# ---------------------------------------------------------------------------------------- captured values
def test_captured_arrays_become_inputs_once_each():
    one, two = rb.device_put(ONES), rb.device_put(2 * ONES)
    closed = staged(lambda x: x * one + two * one - ONES, F3)
    assert closed.consts == [one, two, ONES] or [id(c) for c in closed.consts] == [id(one), id(two), id(ONES)]
    assert [v.aval for v in closed.jaxpr.constvars] == [F3] * 3
    assert run(closed, ONES)[0].tolist() == [2, 2, 2]


def test_equal_but_different_arrays_are_captured_apart():
    one, other = ONES.copy(), ONES.copy()
    assert len(staged(lambda x: x * one + other, F3).consts) == 2


def test_a_temporary_that_dies_while_tracing_is_not_mistaken_for_the_next():
    """The identity of a dead object may be that of the next one."""

    def fn(x):
        for i in range(50):
            x = x + np.full(3, i, np.float32)
        return x

    closed = staged(fn, F3)
    assert run(closed, np.zeros(3, np.float32))[0].tolist() == [sum(range(50))] * 3


@pytest.mark.parametrize("value", [2.0, 2, np.float32(2), np.asarray(np.float32(2))])
def test_scalars_become_literals(value):
    closed = staged(lambda x: lax.mul(x, value), F3)
    assert closed.consts == []
    (eqn,) = closed.eqns
    assert type(eqn.inputs[1]) is Literal and float(eqn.inputs[1].value) == 2.0
    assert eqn.inputs[1].aval is F
    assert eqn.outputs[0].aval is F3


def test_numbers_adopt_the_dtype_of_the_array_beside_them():
    for dtype in ("float16", "float64", "int8", "complex64"):
        closed = staged(lambda x: x + 1, ShapedArray((2,), dtype))
        (eqn,) = closed.eqns
        assert eqn.inputs[1].aval is ShapedArray((), dtype)
        assert closed.out_avals == (ShapedArray((2,), dtype),)


@pytest.mark.narrow
def test_weak_types_stay_weak_between_numbers_and_give_way_to_arrays():
    weak = ShapedArray((), "float32", True)
    closed = staged(lambda x: x * 2.0, weak)
    assert closed.out_avals == (weak,)
    closed = check(stage(lambda x, y: [x + y], [weak, ShapedArray((), "float16")]))
    assert closed.out_avals == (ShapedArray((), "float16"),)
    assert staged(lambda: lax.add(1, 2)).out_avals == (ShapedArray((), "int32", True),)


def test_a_typed_scalar_keeps_its_width():
    wide = typed_scalar(np.float64(1) / 3, ShapedArray((), "float64"))
    closed = staged(lambda x: lax.mul(x, wide), ShapedArray((2,), "float64"))
    assert closed.eqns[0].inputs[1].aval.dtype == np.float64
    out = run(closed, lax.full((2,), 1.0, "float64"))[0]
    assert out.dtype == np.float64 and out[0].item() == 1 / 3


# ------------------------------------------------------------------------------------------------ nesting
def test_staging_inside_staging_captures_the_outer_tracer():
    inner = []

    def outer(x):
        closed = stage(lambda y: [y * x + ONES], [F3])
        inner.append(closed)
        return evaluate(closed.jaxpr, [x], closed.consts)[0]

    closed = staged(outer, F3)
    assert is_tracer(inner[0].consts[0])
    assert names(closed) == ["mul", "add"]
    assert run(closed, ONES * 3)[0].tolist() == [10, 10, 10]


@pytest.mark.narrow
def test_a_call_inside_a_call():
    def fn(x):
        return toys.jit(lambda y: toys.jit(lambda z: z * x)(y) + y)(x * 2.0)

    closed = staged(fn, F)
    assert names(closed) == ["mul", "jit"]
    assert float(run(closed, 3.0)[0]) == fn(3.0) == 24.0


def test_a_trace_within_an_interpreter_captures_its_tracers():
    box = toys.enclose(lambda x: toys.jit(lambda y: y - x)(x * 2.0))((1.0, 2.0))
    assert [float(v) for v in box] == [0.0, 3.0]


def test_open_consts_makes_captured_arrays_inputs():
    closed = staged(lambda x: x + ONES, F3)
    body = check(consts_as_inputs(closed))
    assert body.constvars == [] and len(body.invars) == 2
    assert consts_as_inputs(closed) is body
    assert evaluate(body, [ONES, ONES])[0].tolist() == [2, 2, 2]
    plain = staged(lambda x: x, F3)
    assert consts_as_inputs(plain) is plain.jaxpr


# ------------------------------------------------------------------------------------------------ effects
def test_effects_are_part_of_the_program_and_of_those_around_it():
    noisy = Primitive("noisy_of_test_staging", lambda x: x, kinds=("effect",))
    inner = stage(lambda x: [noisy(x)], [F])
    assert inner.effects == frozenset([Effect("noisy_of_test_staging")])
    outer = stage(lambda x: [toys.jit(noisy)(x)], [F])
    assert outer.effects == inner.effects
    tagged = Primitive(
        "tagged_of_test_staging", lambda x, tag: x, effects=lambda tag: [Effect(tag, ordered=True)]
    )
    assert tagged.kinds == ("effect",)
    assert stage(lambda x: [tagged(x, tag="print")], [F]).effects == frozenset([Effect("print", True)])
    assert stage(lambda x: [lax.sin(x)], [F]).effects == frozenset()


# ---------------------------------------------------------------------------------------- what is refused
def test_a_wrong_type_inside_is_reported_by_the_shape_rule():
    with pytest.raises((TypeError, ValueError), match=r"3.*4|4.*3"):
        staged(lambda x: lax.add(x, np.ones(4, np.float32)), F3)


def test_what_is_no_array_is_refused():
    with pytest.raises(TypeError, match="str is not an array"):
        staged(lambda x: lax.add(x, "one"), F3)
    with pytest.raises(TypeError, match="not an array"):
        staged(lambda x: None, F3)


def test_a_deleted_array_can_be_captured_but_not_used():
    array = rb.device_put(ONES)
    array.delete()
    closed = staged(lambda x: x + array, F3)
    with pytest.raises(rb.errors.DeletedArrayError):
        run(closed, ONES)


def test_typeof_inside_a_trace_is_the_tracers_aval():
    staged(lambda x: [typeof(x) is F3 or pytest.fail("another type"), x][1], F3)


def test_device_get_leaves_traced_arrays():
    staged = stage(lambda x: [rb.device_get({"x": x})["x"] * 2], [rb.typeof(np.ones(2, "f4"))])
    assert [e.primitive.name for e in staged.jaxpr.equations] == ["mul"]


@pytest.mark.parametrize("file", ["<ipython-input-12-a2f4be43>", "/tmp/ipython-input-12-3411886.py"])
def test_cells_of_notebooks_are_named_by_their_number(file):
    assert short_path(file) == "cell 12"


def test_cells_of_a_running_notebook_are_named_as_it_counts(monkeypatch):
    file = "/tmp/ipykernel_41/1234567.py"
    assert short_path(file) == "a cell"

    class Shell:
        class compile:
            @staticmethod
            def format_code_name(name):
                return ("Cell", "In[7]") if name == file else None

    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=Shell))
    assert short_path(file) == "cell 7" and short_path("/tmp/ipykernel_41/7.py") == "a cell"
    assert short_path("/tmp/other.py") == "/tmp/other.py"
