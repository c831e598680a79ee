"""Interpreters: what a tracer is, whose it is, how long it lives, and that nothing remains when a run is
over.
"""

import gc
import threading
import weakref

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax, typeof
from rabbet.errors import UnexpectedTracerError
from rabbet.extend.primitive import Primitive
from rabbet.extend.transform import (
    Interpreter,
    RuleTable,
    Tracer,
    context,
    is_tracer,
    payload_of,
    run,
    run_traced,
)
from rabbet.messages.source_positions import short_path as short
from rabbet.runtime.evaluation import EVALUATION

from . import toys
from .toys import Box, count, enclose, slope

ONES = np.ones(3, np.float32)


# ------------------------------------------------------------------------------------------------ running
def test_an_interval_contains_the_values():
    box = enclose(lambda x, y: x * y - lax.exp(x))((-1.0, 2.0), (0.5, 3.0))
    xs, ys = np.random.default_rng(0).uniform((-1, 0.5), (2, 3), (100, 2)).T
    values = xs * ys - np.exp(xs)
    assert float(box.lo) <= values.min() and values.max() <= float(box.hi)


def test_run_maps_pytrees_of_results():
    out = run(toys.Enclose(), lambda x: {"a": [x, -x], "b": (x + 1.0, None)}, [Box(1.0, 2.0)])
    assert [float(v) for v in out["a"][1]] == [-2, -1]
    assert type(out["b"][0]) is Box and out["b"][1] is None
    assert [float(v) for v in out["b"][0]] == [2, 3]


def test_results_that_were_never_touched_are_lifted():
    out = run(toys.Enclose(), lambda x: (x, 5.0, ONES), [Box(1.0, 2.0)])
    assert out[1] == Box(5.0, 5.0)
    assert out[2].lo is ONES


def test_run_traced_leaves_plain_values_plain():
    interpreter = toys.Enclose()
    touched, plain = run_traced(interpreter, lambda x: (x + 1.0, 7.0), [Box(1.0, 2.0)])
    assert is_tracer(touched) and plain == 7.0
    assert payload_of(interpreter, touched).lo.item() == 2.0
    assert payload_of(interpreter, plain) == Box(7.0, 7.0)


def test_operations_on_untouched_values_run_below():
    seen = []

    def fn(x):
        y = lax.add(rb.device_put(ONES), 1.0)
        seen.append(y)
        return x * y

    enclose(fn)((ONES, ONES))
    assert not is_tracer(seen[0]) and seen[0].tolist() == [2, 2, 2]
    assert count(fn, ONES) == ["mul"]


def test_tracers_show_types_and_their_interpreter():
    def fn(x):
        assert is_tracer(x) and type(x) is Tracer
        assert (x.shape, x.dtype, x.ndim, x.size, len(x), x.weak_type) == ((3,), np.float32, 1, 3, 3, False)
        assert typeof(x) is typeof(ONES)
        assert repr(x).startswith("Tracer<f32[3]> of Enclose of ") and "test_interpreter.py:" in repr(x)
        return x

    enclose(fn)((ONES, ONES))


def test_python_control_flow_on_concrete_values_of_an_outer_level():
    table = [1.0, 2.0, 3.0]
    assert float(slope(lambda x: x * table[len(table) - 1])(2.0)) == 3.0


def test_a_rule_is_called_once_per_operation_with_constants_lifted():
    calls = []
    table = RuleTable("recording")

    @table.kind("linear", "bilinear")
    def record(op, *payloads):
        calls.append((op.primitive.name, payloads))
        return ("p", op(*[p[1] for p in payloads]))

    class Recording(Interpreter):
        def lift(self, value):
            return ("lifted", value)

        def type_of(self, payload):
            return typeof(payload[1])

    Recording.table = table
    run(Recording(), lambda x: x * 2.0 + x, [("p", 3.0)])
    assert [name for name, _ in calls] == ["mul", "add"]
    assert calls[0][1][1] == ("lifted", 2.0)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int64", "complex64"])
@pytest.mark.parametrize("number", [0, 1, True])
def test_numbers_are_lifted_in_the_dtype_that_they_adopt(dtype, number):
    """So that ``lift`` may compute with them: here it makes a zero of the same type."""
    x = lax.full((2,), 3, dtype)
    out = run(toys.Differentiate(), lambda y: number + y * 2, [toys.Slope(x, x)])
    assert out.value.dtype == out.rate.dtype == np.dtype(dtype)
    assert out.value.tolist() == [6 + number] * 2 and out.rate.tolist() == [6, 6]


def test_weak_numbers_stay_weak_through_an_interpreter():
    assert typeof(enclose(lambda x: x * 2 + 1)((1.0, 2.0)).lo) is typeof(1.0)


# ------------------------------------------------------------------------------------------------ nesting
def test_two_levels_of_one_transformation():
    inner = lambda x: enclose(lambda y: y * x)((1.0, 2.0))
    out = enclose(inner)((3.0, 4.0))
    assert type(out.lo) is Box and type(out.lo.hi) in (rb.Array, float)
    assert float(out.lo.lo) == 3.0 and float(out.hi.hi) == 8.0


def test_inner_and_outer_tracers_are_told_apart():
    """Perturbation confusion: the inner derivative must not see the outer one's rate."""
    assert float(slope(lambda x: x * slope(lambda y: x + y)(1.0))(1.0)) == 1.0
    assert float(slope(lambda x: x * slope(lambda y: x * y)(2.0))(3.0)) == 6.0


def test_the_second_derivative_is_two_levels():
    assert float(slope(slope(lambda x: x * x * x))(2.0)) == 12.0
    assert float(slope(slope(slope(lax.sin)))(0.0)) == pytest.approx(-1.0)


def test_different_transformations_nest_in_both_orders():
    cubic = lambda x: x * x * x - x * 2.0
    assert [float(v) for v in enclose(slope(cubic))((1.0, 1.0))] == [1.0, 1.0]
    box = lambda x: enclose(cubic)((x, x)).hi
    with pytest.raises(rb.errors.MissingRule, match="no 'slope' rule for primitive 'm"):
        slope(box)(1.0)  # the min and max of the corners have no slope


def test_values_of_an_outer_level_are_constants_inside():
    def outer(x):
        box = enclose(lambda y: y * x + x)((1.0, 2.0))
        return box.hi - box.lo

    assert float(enclose(outer)((3.0, 3.0)).lo) == 3.0


def test_lists_of_results_under_an_interpreter():
    pair = Primitive("pair_of_test_interpreter", lambda x: (x, x), kinds=("linear",), multiple_results=True)

    @pair.decompose
    def parts(op, x):
        return [x, x * 2.0]

    twin = Primitive("twin_of_test_interpreter", lambda x: (x, x), multiple_results=True)

    @twin.rule("enclose")
    def twin_enclose(op, x):
        return [x, Box(-x.hi, -x.lo)]

    # by its decomposition, as enclose has no rule for the kind; by the owner's rule; on plain arrays
    a, b = enclose(lambda x: tuple(pair(x)))((1.0, 2.0))
    assert (float(a.hi), float(b.hi)) == (2.0, 4.0)
    a, b = enclose(lambda x: tuple(twin(x)))((1.0, 2.0))
    assert (float(a.hi), float(b.hi)) == (2.0, -1.0)
    assert [float(x) for x in pair(3.0)] == [3.0, 6.0]


def test_a_decomposition_runs_under_the_interpreter_that_met_it():
    p = Primitive("affine_of_test_interpreter", lambda x: x, kinds=("elementwise",))

    @p.decompose
    def parts(op, x):
        assert context.interpreter is not EVALUATION
        return -x + 1.0

    assert [float(v) for v in enclose(lambda x: p(p(x)))((1.0, 2.0))] == [1.0, 2.0]
    assert [float(v) for v in enclose(p)((1.0, 2.0))] == [-1.0, 0.0]


# ----------------------------------------------------------------------------------------- leaked tracers
def leak(transformed, *args):
    """A tracer that outlived its run, and the line that made it."""
    kept = []

    def fn(x):
        kept.append(x + 1.0)
        return x

    transformed(fn)(*args)
    return kept[0], fn.__code__.co_firstlineno + 1


USES = {
    "operator": lambda t: t + 1.0,
    "primitive": lax.sin,
    "second operand": lambda t: lax.add(1.0, t),
    "beside numpy": lambda t: ONES * t,
    "unary": lambda t: -t,
    "index": lambda t: rb.device_put(ONES)[t.astype("int32")],
    "in another run": lambda t: enclose(lambda x: x * t)((1.0, 2.0)),
    "in a trace": lambda t: toys.jit(lambda x: x + t)(1.0),
    "argument of a call": lambda t: toys.jit(lax.sin)(t),
    "device_put": rb.device_put,
    "comparison": lambda t: t < 1.0,
    "in the same transformation": lambda t: slope(lambda x: x * t)(1.0),
    "as a payload": lambda t: enclose(lambda x: x)((t, t)).lo + 1.0,
    "bool": bool,
    "float": float,
    "numpy": np.asarray,
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
@pytest.mark.narrow
def test_a_leaked_tracer_names_the_line_that_made_it(use):
    tracer, line = leak(enclose, (1.0, 2.0))
    with pytest.raises(UnexpectedTracerError) as caught:
        use(tracer)
    message = str(caught.value)
    assert "a value of type f32[] was used outside the transformation that made it: Enclose of " in message
    assert f"test_interpreter.py:{line}." in message
    assert "Return it from the transformed function" in message


def test_a_leaked_tracer_of_staging_is_refused_too():
    tracer, line = leak(toys.jit, 1.0)
    with pytest.raises(
        UnexpectedTracerError, match=rf"the trace of .*It was made at .*test_interpreter.py:{line}\."
    ):
        tracer * 2.0


@pytest.mark.narrow
def test_a_leaked_tracer_can_still_be_shown():
    tracer, _ = leak(enclose, (1.0, 2.0))
    assert "f32[]" in repr(tracer)
    assert tracer.shape == ()


def test_numpy_functions_refuse_tracers():
    with pytest.raises(
        rb.errors.TracerArrayConversionError, match=r"numpy.asarray\(\) needs the value .* Enclose of"
    ):
        enclose(lambda x: np.sin(x))((1.0, 2.0))


@pytest.mark.parametrize(
    ("use", "dtype", "error", "what"),
    [
        (lambda x: x if x else -x, "bool", rb.errors.TracerBoolConversionError, r"bool\(\)"),
        (lambda x: [1, 2][x], "int32", rb.errors.TracerIntegerConversionError, "a Python integer"),
        (range, "int32", rb.errors.TracerIntegerConversionError, "a Python integer"),
        (float, "int32", rb.errors.ConcretizationTypeError, r"float\(\)"),
        (int, "int32", rb.errors.ConcretizationTypeError, r"int\(\)"),
        (complex, "int32", rb.errors.ConcretizationTypeError, r"complex\(\)"),
        (lambda x: x.item(), "int32", rb.errors.ConcretizationTypeError, r"item\(\)"),
        (lambda x: x.tolist(), "int32", rb.errors.ConcretizationTypeError, r"tolist\(\)"),
    ],
)
def test_python_values_of_a_traced_array_are_refused_with_its_line(use, dtype, error, what):
    def fn(x):
        y = x.astype(dtype)
        return use(y)

    with pytest.raises(error, match=rf"{what} needs the value of an array") as caught:
        toys.jit(fn)(1.5)
    message = str(caught.value)
    assert "the trace of " in message
    assert f"It was made at {short(__file__)}:{fn.__code__.co_firstlineno + 1}." in message
    assert "make th" in message and "help(rabbet.errors." in message


# ------------------------------------------------------------------------------------------ a clean state
def test_an_exception_leaves_the_state_clean():
    def fail(x):
        raise KeyError("user's own")

    for transformed in (enclose, lambda f: toys.jit(lambda x: f(x)), slope):
        with pytest.raises(KeyError, match="user's own"):
            transformed(fail)((1.0, 2.0) if transformed is enclose else 1.0)
        assert context.interpreter is EVALUATION
        assert context.where is None
    assert float(lax.add(1.0, 2.0)) == 3.0


def test_an_exception_in_a_rule_leaves_the_state_clean():
    table = RuleTable("failing")

    @table.primitive(lax.neg)
    def neg(op, x):
        raise ZeroDivisionError

    class Failing(toys.Enclose):
        pass

    Failing.table = table

    def fn(x):
        with pytest.raises(ZeroDivisionError):
            lax.neg(x)
        assert context.interpreter.table is table
        assert context.where is None
        return x

    run(Failing(), fn, [Box(1.0, 2.0)])
    assert context.interpreter is EVALUATION


def test_a_shape_error_inside_leaves_the_state_clean():
    with pytest.raises((TypeError, ValueError)):
        toys.jit(lambda x: lax.add(x, np.ones(4, np.float32)))(ONES)
    assert context.interpreter is EVALUATION and context.where is None


def test_nothing_of_a_finished_run_is_kept_alive():
    interpreter = toys.Enclose()
    watched = weakref.ref(interpreter)
    run(interpreter, lambda x: x * x, [Box(1.0, 2.0)])
    del interpreter
    gc.collect()
    assert watched() is None


def test_threads_have_interpreters_of_their_own():
    inside, finished, seen = threading.Event(), threading.Event(), []

    def other():
        inside.wait(10)
        seen.append(context.interpreter is EVALUATION)
        seen.append(float(lax.mul(2.0, 3.0)))
        seen.append(float(slope(lambda y: y * y)(3.0)))
        finished.set()

    thread = threading.Thread(target=other)
    thread.start()

    def fn(x):
        inside.set()
        assert finished.wait(10)
        return x * x

    assert float(slope(fn)(1.0)) == 2.0
    thread.join()
    assert seen == [True, 6.0, 6.0]


def test_many_threads_at_once():
    results = [None] * 8

    def work(i):
        results[i] = float(slope(slope(lambda x: x * x * x))(float(i))) + float(
            toys.jit(lambda x: x + 1.0)(float(i))
        )

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert results == [7.0 * i + 1.0 for i in range(8)]


def test_generators_that_are_left_unfinished_do_not_disturb():
    def fn(x):
        it = (x * i for i in (1.0, 2.0, 3.0))
        return next(it)

    assert float(slope(fn)(2.0)) == 1.0
    assert context.interpreter is EVALUATION


# ------------------------------------------------------------------------------------- incomplete authors
class Nothing(Interpreter):
    table = RuleTable("nothing of test_interpreter")


def test_an_interpreter_without_type_of_is_told_what_to_write():
    with pytest.raises(
        NotImplementedError, match=r"Nothing must give the type of a payload: define type_of\(self, payload\)"
    ):
        run(Nothing(), lambda x: x, [1.0])


def test_an_interpreter_without_lift_is_told_what_to_write():
    class Half(toys.Enclose):
        lift = Interpreter.lift

    with pytest.raises(
        NotImplementedError, match=r"Half must say how to lift a constant: define lift\(self, value\)"
    ):
        run(Half(), lambda x: x * 2.0, [Box(1.0, 2.0)])


def test_an_interpreter_without_a_table_is_told_what_to_write():
    class Tableless(toys.Enclose):
        table = None

    with pytest.raises(
        NotImplementedError, match="Tableless met primitive 'mul' and has no rules: write `table = rules`"
    ):
        run(Tableless(), lambda x: x * 2.0, [Box(1.0, 2.0)])


def test_a_rule_that_returns_the_wrong_number_of_results_is_named():
    halves = Primitive("halves of test_interpreter", lambda x: (x, x), multiple_results=True)
    given = []
    halves.rule("enclose")(lambda op, x: given[-1](x))
    for wrong, shown in ((lambda x: [x], "a list of 1"), (lambda x: x, "a Box")):
        given.append(wrong)
        with pytest.raises(
            TypeError,
            match=rf"the 'enclose' rule for primitive 'halves of test_interpreter' \(.*test_interpreter.*\) "
            rf"returned {shown}; 'halves of test_interpreter' has 2 results",
        ):
            run(toys.Enclose(), halves, [Box(1.0, 2.0)])
    given.append(lambda x: [x, x])
    assert len(run(toys.Enclose(), halves, [Box(1.0, 2.0)])) == 2
