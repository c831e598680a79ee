"""The kit's own tests: what holds passes, and each promise, when broken, is named."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.passes import Equation, Jaxpr, Pass, rewrite_equations
from rabbet.extend.primitive import Batched, Dual, Effect, Primitive, full_of_type
from rabbet.extend.transform import Interpreter, RuleSet, RuleTable, is_tracer, lower, run, typeof
from rabbet.testing import (
    LawError,
    Row,
    check_backend,
    check_dtype,
    check_pass,
    check_primitive,
    check_rules,
    check_transformation,
    driver,
)  # fmt: skip
from rabbet.testing.checks import check_kinds
from rabbet.testing.draws import scalar, some
from rabbet.testing.passes import random_program
from rabbet.testing.programs import PROGRAMS, Program
from rabbet.testing.rows import elementwise, shape

for package in ("rabbet_autodiff", "rabbet_jit", "rabbet_vmap"):
    pytest.importorskip(package)  # laws are about their transformations


pytestmark = pytest.mark.needs("jit", "grad", "vmap")


def tripling(name, kinds=("increasing", "linear", "elementwise")):
    primitive = Primitive(name, lambda x: x, kinds=kinds)

    @primitive.decompose
    def parts(op, x):
        return lax.mul(x, 3.0)

    return primitive


def row_of(primitive, orders=2, factor=3.0):
    return Row(primitive, lambda x: factor * x, (some(2, 3),), ("float32", "float64"), orders=orders)


def test_a_primitive_by_its_parts_keeps_every_promise():
    check_primitive(row_of(tripling("triple_of_kit")))
    check_primitive(row_of(tripling("triple_again_of_kit")), driver.plugins())


def test_a_wrong_value_is_found():
    with pytest.raises(LawError, match="double_of_kit in float32"):
        check_primitive(row_of(tripling("double_of_kit"), factor=2.0))


def test_a_false_kind_is_found():
    with pytest.raises(LawError, match="declares the kind 'decreasing'"):
        check_primitive(row_of(tripling("falling_of_kit", ("decreasing", "elementwise"))))


def test_a_false_choice_by_index_is_found():
    primitive = Primitive("near_index_of_kit", lambda x, i: x.update(shape=()), kinds=("indexed",), adopt=1)
    primitive.decompose(lambda op, x, i: lax.mul(lax.index_in_dim(x, 0, keepdims=False), 1.5))
    operands = some(3), scalar(0, 2, dtype="int32")
    row = Row(primitive, lambda x, i: 1.5 * x[0], operands, ("float32",), orders=0)
    with pytest.raises(LawError, match="declares the kind 'indexed', but it changes the values of elements"):
        check_kinds(row)


def test_a_wrong_derivative_is_found():
    primitive = tripling("misled_of_kit", ("elementwise",))

    @primitive.rule("jvp")
    def jvp(op, x):
        return Dual(op(x.primal), lax.mul(x.tangent, 2.0))

    with pytest.raises(LawError, match="misled_of_kit in float64: jvp: tangent 0"):
        check_primitive(row_of(primitive))


def test_a_missing_rule_is_found():
    primitive = Primitive("bare_of_kit", lambda x: x)

    @primitive.rule("lower")
    def lowering(op, x):
        return x

    with pytest.raises(LawError, match="'bare_of_kit' has no 'jvp' rule"):
        check_primitive(Row(primitive, lambda x: x, (some(2),), ("float32",)))


def test_a_set_of_rules_is_used_and_right():
    primitive = tripling("bridged_of_kit", ("elementwise",))
    table = RuleTable("batch_of_kit", bridges=lambda name: [rules])
    rules = RuleSet("batch_of_kit")

    @rules.primitive(primitive)
    def batch(op, x):
        return Batched(op(x.value), x.axis)

    check_rules(rules, [row_of(primitive)])
    table.primitive(primitive)(lambda op, x: x)
    with pytest.raises(LawError, match="'bridged_of_kit' is hidden by one from the table"):
        check_rules(rules, [row_of(primitive)])


def test_rules_that_no_row_tries_are_named(monkeypatch):
    primitive = tripling("untried_of_kit")
    rules = RuleSet("lower")
    monkeypatch.setattr(lower, "_bridges", lambda name: [rules])
    rules.primitive(primitive)(lambda op, x: x)
    with pytest.raises(LawError, match="no row tries the 'lower' rule for 'untried_of_kit'"):
        check_rules(rules, [])


TRANSFORMATIONS = {
    "jvp": (lambda f: lambda p: rb.jvp(f, (p[0],), (p[1],)), lambda x: (x, 2 * x)),
    "vmap": (rb.vmap, lambda x: x),
    "jit": (rb.jit, lambda x: x),
}


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_our_own_transformations_keep_the_promises(name):
    transform, payload = TRANSFORMATIONS[name]
    check_transformation(transform, payload)


def test_reverse_mode_keeps_them_too():
    bounded = [program for program in PROGRAMS if program.name != "while_loop"]
    check_transformation(lambda f: lambda p: rb.vjp(f, p)[1](p)[0], lambda x: x, bounded)


def test_a_transformation_that_loses_its_way_is_found():
    """Outside jit it answers with ones."""

    def forgetful(fn):
        return lambda x: fn(x) if is_tracer(x) else full_of_type(typeof(x), 1)

    with pytest.raises(LawError, match="straight: compiled"):
        check_transformation(forgetful, lambda x: x)


def test_the_cpu_keeps_a_backends_promises():
    check_backend("cpu", [*elementwise.ROWS[:2], shape.ROWS[0]])


@pytest.mark.parametrize("name", ["float32", "int8", "complex64"])
def test_a_dtype_keeps_its_promises(name):
    rows = [row for row in elementwise.ROWS if name in row.dtypes]
    check_dtype(name, rows[:2])


@pytest.mark.needs("bfloat16")
def test_a_dtype_of_a_plugin_keeps_them():
    check_dtype("bfloat16", [row for row in elementwise.ROWS if "bfloat16" in row.dtypes][:3])


@pytest.mark.needs("float6_e2m3fn")
def test_a_dtype_that_is_only_stored_keeps_them():
    try:
        check_dtype("float6_e2m3fn")
    except TypeError as error:  # jaxlib 0.10 has no such arrays
        assert "jaxlib cannot store arrays of float6_e2m3fn" in str(error)
        pytest.skip(str(error).splitlines()[0])


def test_a_row_that_nobody_has_cannot_be_left_out():
    with pytest.raises(ValueError, match="no row is called 'adds'; did you mean 'add'"):
        check_dtype("float32", apart=("adds",))


def test_a_row_for_another_dtype_is_refused():
    adding = next(row for row in elementwise.ROWS if row.primitive is lax.add)
    only = adding.but(dtypes=("float64",))
    with pytest.raises(LawError, match="add is not a row for float32"):
        check_dtype(np.float32, [only])


def test_a_row_of_floats_says_its_orders():
    silent = Row(lax.sin, np.sin, (some(2, 3),), ("float32",))
    with pytest.raises(LawError, match="the row of 'sin' does not say how many derivatives to check"):
        check_primitive(silent)


def test_a_false_kind_is_a_law_error_whatever_it_raises():
    pair = Primitive("pair_of_kit", lambda x, y, axes: x, kinds=("reduction",))
    pair.decompose(lambda op, x, y: lax.add(x, y))
    row = Row(pair, lambda x, y: x + y, (some(2), some(2)), ("float32",), {"axes": (0,)}, orders=0)
    with pytest.raises(
        LawError, match="pair_of_kit declares the kind 'reduction', and trying its law raised"
    ):
        check_primitive(row)


def test_a_primitive_without_a_program_is_of_no_kind_body():
    with pytest.raises(LawError, match="'body', but its parameters hold no program"):
        check_primitive(row_of(tripling("bodiless_of_kit", ("body", "elementwise"))))


def test_a_transformation_without_a_derivative_is_found():
    def cut(fn):
        return lambda x: lax.stop_gradient(fn(x))

    with pytest.raises(LawError, match="differentiated"):
        check_transformation(cut, lambda x: x)
    check_transformation(cut, lambda x: x, PROGRAMS[:2], apart=("differentiated",))
    with pytest.raises(
        ValueError, match="no law is called 'smooth'; there are as written out, compiled, batched"
    ):
        check_transformation(cut, lambda x: x, apart=("smooth",))


def test_a_value_of_outside_that_loses_its_derivative_is_found():
    """All is well for the function's own argument, and what it closes over is lifted without a tangent."""

    class Pairs(Interpreter):
        table = RuleTable("pairs_of_kit")

        def lift(self, value):
            return (lax.stop_gradient(value),)

        def type_of(self, pair):
            return typeof(pair[0])

    @Pairs.table.otherwise(before_decompositions=True)
    def on_first(op, *pairs):
        out = op(*(x for (x,) in pairs))
        return [(x,) for x in out] if op.primitive.multiple_results else (out,)

    with pytest.raises(LawError, match="differentiated by a value that the function closes over"):
        check_transformation(lambda fn: lambda pair: run(Pairs(), fn, [pair]), lambda x: (x,), PROGRAMS[:1])


class Counting(Interpreter):
    """Its state counts what happens; `sizes` adds something smooth."""

    table = RuleTable("counting_of_kit")
    threads = carries = True

    def __init__(self):
        self.state = {"steps": np.int32(0), "size": np.float32(0)}

    def key(self):
        return type(self)

    def lift(self, value):
        return value

    def type_of(self, value):
        return typeof(value)

    def wrap(self, value):
        if typeof(value).kind == "f":
            size = lax.reduce_sum(lax.mul(value, value), tuple(range(typeof(value).ndim)))
            self.state = {
                "steps": lax.add(self.state["steps"], np.int32(1)),
                "size": lax.add(self.state["size"], size),
            }
        return value


Counting.table.otherwise(lambda op, *values: op(*values), before_decompositions=True)


def counted(kind, leaf):
    def transform(fn):
        def of(x):
            interpreter = kind()
            out = run(interpreter, fn, [x])
            return out, interpreter.state[leaf]

        return of

    return transform


def test_a_state_of_values_keeps_the_promises():
    some_of_all = [p for p in PROGRAMS if p.name in ("cond", "while_loop", "custom rules for both modes")]
    check_transformation(counted(Counting, "size"), lambda x: x, some_of_all)


def test_derivative_rules_may_be_observed():
    class Observing(Counting):
        def aside(self):
            return self.fresh()

    of_rules = [p for p in PROGRAMS if p.name == "custom rules for both modes"]
    check_transformation(counted(Observing, "size"), lambda x: x, of_rules)


def test_a_state_that_counts_leaves_the_laws_of_loops_out():
    twice = lambda x: lax.fori_loop(0, 2, lambda i, c: lax.add(c, 1.0), x)
    scan = [Program("two steps", twice, lambda x: lax.add(x, 2.0))]
    with pytest.raises(LawError, match=r"as written out \(leaf \[1\] of the payload\)") as caught:
        check_transformation(counted(Counting, "steps"), lambda x: x, scan)
    apart = ("as written out", "of a derivative")
    assert f"apart={apart}" in str(caught.value)
    check_transformation(counted(Counting, "steps"), lambda x: x, scan, apart=apart)


def same(jaxpr, context):
    return jaxpr


def test_a_pass_that_changes_nothing_passes_unless_it_should_act():
    programs = [random_program(1, size=4), lax.sin]
    gain = check_pass(Pass("same", same), programs)
    assert gain.changed == 0 and gain.before == gain.after and gain.programs == 2
    with pytest.raises(LawError, match="same changed none of 2 programs"):
        check_pass(Pass("same", same), programs, acts=True)


def as_documented(jaxpr, context):
    equations = list(jaxpr.equations)
    return Jaxpr(jaxpr.invars, jaxpr.outvars, equations, jaxpr.constvars, jaxpr.effects, jaxpr.name)


def test_a_pass_that_writes_the_same_program_again_does_not_act():
    with pytest.raises(LawError, match="again changed none of 6 programs"):
        check_pass(Pass("again", as_documented), acts=True)


def dropping_effects(jaxpr, context):
    kept = [eqn for eqn in jaxpr.equations if eqn.outputs]
    return Jaxpr(jaxpr.invars, jaxpr.outvars, kept, jaxpr.constvars, jaxpr.effects, jaxpr.name)


def turning_effects(jaxpr, context):
    """A second effect before the first."""
    at = [i for i, eqn in enumerate(jaxpr.equations) if eqn.primitive in (first_note, last_note)]
    if len(at) < 2:
        return jaxpr
    equations = list(jaxpr.equations)
    equations[at[0]], equations[at[1]] = equations[at[1]], equations[at[0]]
    return Jaxpr(jaxpr.invars, jaxpr.outvars, equations, jaxpr.constvars, jaxpr.effects, jaxpr.name)


def noting(name):
    effect = Effect(name, ordered=True)
    primitive = Primitive(name, lambda x: (), multiple_results=True, effects=[effect])
    primitive.rule("evaluate")(lambda op, x: [])
    primitive.rule("jvp")(lambda op, x: op(x.primal))
    return primitive


first_note, last_note = noting("first_of_kit"), noting("last_of_kit")


def test_a_pass_that_drops_or_turns_effects_is_found():
    def program(x):
        first_note(x)
        last_note(x)
        return lax.sin(x)

    for programs in (None, [program]):
        with pytest.raises(LawError, match="it dropped an operation with the effect"):
            check_pass(Pass("silent", dropping_effects), programs)
    with pytest.raises(LawError, match="changed the order of operations with ordered effects"):
        check_pass(Pass("turned", turning_effects), [program])


def test_what_is_no_pass_is_refused():
    with pytest.raises(TypeError, match=r"takes a rabbet.extend.passes.Pass, got str 'abc'"):
        check_pass("abc")


def replacing(old, new):
    def run(jaxpr, context):
        def rule(eqn):
            return Equation(new.op(), eqn.inputs, eqn.outputs) if eqn.primitive is old else None

        return rewrite_equations(jaxpr, rule)

    return run


@pytest.mark.parametrize(
    "run, message",
    [
        (replacing(lax.sin, lax.cos), "on program 0: results"),
        (lambda jaxpr, context: Jaxpr(jaxpr.invars, jaxpr.outvars, []), "on program 0"),
        (lambda jaxpr, context: jaxpr.equations.clear() or jaxpr, "on program 0"),
        (lambda jaxpr, context: Jaxpr(jaxpr.invars, [], jaxpr.equations), "changed the inputs or outputs"),
    ],
    ids=["another function", "nothing defined", "its argument", "its outputs"],
)
def test_a_pass_that_breaks_programs_is_found(run, message):
    def program(x):
        return lax.cond(lax.gt(lax.reduce_sum(x, (0,)), 0.0), lax.sin, lax.neg, lax.mul(x, x))

    with pytest.raises(LawError, match=message):
        check_pass(Pass("careless", run), [program])


def test_a_pass_that_loses_derivatives_is_found():
    flat = Primitive("sin_without_slope", lambda x: x)
    flat.rule("lower")(lambda op, x: op.emit(f"stablehlo.sine {x} : {op.out.mlir}"))
    flat.rule("jvp")(lambda op, x: Dual(op(x.primal), lax.full_like(x.primal, 0)))
    with pytest.raises(LawError, match="derivatives"):
        check_pass(Pass("flat", replacing(lax.sin, flat)), [lax.sin])


def test_programs_for_a_pass_may_capture_arrays():
    weights = rb.device_put(np.eye(3, dtype=np.float32))
    again = Pass(
        "again", lambda j, _: Jaxpr(j.invars, j.outvars, list(j.equations), j.constvars, j.effects, j.name)
    )
    dot = lambda x: lax.dot_general(x, weights, (((0,), (0,)), ((), ())))
    assert check_pass(again, [dot]).programs == 1


def test_what_a_backend_lacks_is_skipped_and_the_rest_is_tried(monkeypatch):
    lacks = lambda op: "no half precision" if op.out.dtype.name == "float16" else None
    monkeypatch.setitem(vars(rb.devices("cpu")[0].client.backend), "lacks", lacks)
    row = Row(lax.sin, np.sin, (some(2, 3),), ("float16", "float32"), orders=0)
    check_backend("cpu", [row])
    wrong = Row(lax.sin, np.cos, (some(2, 3),), ("float16", "float32"), orders=0)
    with pytest.raises(LawError):
        check_backend("cpu", [wrong])
