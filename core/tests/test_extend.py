"""``rabbet.extend`` is enough to write a plugin with."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import extend


def test_a_transformation_a_primitive_and_a_bridge_written_with_this_page_alone():
    """A tiny plugin: absolute error bounds; a stranger's primitive; and a third's rule for both."""
    Interpreter, Primitive, RuleSet, RuleTable, run = (
        extend.transform.Interpreter,
        extend.primitive.Primitive,
        extend.transform.RuleSet,
        extend.transform.RuleTable,
        extend.transform.run,
    )
    third = RuleSet("error")
    table = RuleTable("error", doc="(op, *(value, error)) -> (value, error)", bridges=lambda name: [third])

    @table.kind("linear")
    def add_up(op, *args):
        value = op(*[v for v, _ in args])
        error = args[0][1]
        for _, e in args[1:]:
            error = error + e
        return value, error

    @table.primitive(rb.lax.mul)
    def mul(op, x, y):
        return op(x[0], y[0]), abs(x[0]) * y[1] + abs(y[0]) * x[1] + x[1] * y[1]

    double = Primitive("double_of_test_extend", lambda x: x, kinds=("elementwise",))
    double.rule("lower")(lambda op, x: op.emit(f"stablehlo.add {x}, {x} : {op.out.mlir}"))
    double.rule("jvp")(lambda op, x: extend.primitive.Dual(op(x.primal), op(x.tangent)))

    @third.primitive(double)
    def double_error(op, x):
        return op(x[0]), op(x[1])

    class Errors(Interpreter):
        def lift(self, value):
            return value, 0.0

        def type_of(self, payload):
            return rb.typeof(payload[0])

    Errors.table = table
    value, error = run(Errors(), lambda x, y: double(x * y) + 1.0, [(3.0, 0.5), (2.0, 0.25)])
    assert (float(value), float(error)) == (13.0, 2 * (3 * 0.25 + 2 * 0.5 + 0.125))
    # and the primitive takes part in the standard table that its owner knows
    assert extend.transform.jvp.explain(double).source == "owner"


def test_fused_functions_run_as_one_program_and_inline_in_traces():
    calls = []

    @extend.functions.fused
    def norm(x):
        calls.append(1)
        return rb.lax.sqrt(rb.lax.reduce_sum(x * x, (0,)))

    x = rb.device_put(np.float32([3, 4]))
    assert float(norm(x)) == float(norm(x)) == 5.0 and len(calls) == 1
    closed = extend.passes.check(extend.passes.stage(lambda y: [norm(y)], [rb.typeof(x)]))
    assert [e.primitive.name for e in closed.eqns] == ["mul", "reduce_sum", "sqrt"]


def test_fused_with_static_arguments_numbers_and_trees():
    @extend.functions.fused(static=("axis",))
    def total(tree, scale=1.0, *, axis):
        return {"sum": rb.lax.reduce_sum(tree["x"], (axis,)) * scale, "axis": rb.lax.add(axis, 0)}

    x = rb.device_put(np.arange(6, dtype=np.float32).reshape(2, 3))
    assert total({"x": x}, axis=0)["sum"].tolist() == [3, 5, 7]
    assert total({"x": x}, 2.0, axis=1)["sum"].tolist() == [6, 24]
    assert int(total({"x": x}, axis=1)["axis"]) == 1
    assert total({"x": np.ones((2, 3), np.float32)}, axis=0)["sum"].tolist() == [2, 2, 2]


def test_fused_tells_equal_statics_of_different_types_apart():
    @extend.functions.fused(static=("n",))
    def of(x, n):
        return x * n if type(n) is float else x + n

    x = rb.device_put(np.float32([5]))
    assert [of(x, n).tolist() for n in (2, 2.0, True, 1, 2)] == [[7], [10], [6], [6], [7]]
    assert of(x, 1).tolist() == [6] and of(x, 1.0).tolist() == [5] and of(x, 1).tolist() == [6]
    assert [str(of(x, z).tolist()) for z in (0.0, -0.0, 0.0)] == ["[0.0]", "[-0.0]", "[0.0]"]
    assert [of(x, n=n).tolist() for n in (2, 2.0, True, 2)] == [[7], [10], [6], [7]]


@pytest.mark.narrow
def test_fused_numbers_keep_their_kind():
    @extend.functions.fused
    def add(x, y):
        return x + y

    i, f = rb.device_put(np.int32([1])), rb.device_put(np.float32([1]))
    assert add(i, 2).dtype == np.int32 and add(i, 2.0).dtype == np.float32 and add(i, 2).dtype == np.int32
    assert add(f, 2).dtype == np.float32 and add(i, True).dtype == np.int32
    assert str(add(f, -0.0).tolist()) == "[1.0]"
    assert [str(extend.functions.fused(lambda x, y: x * y)(f, z).tolist()) for z in (0.0, -0.0, 0.0)] == [
        "[0.0]",
        "[-0.0]",
        "[0.0]",
    ]


def test_fused_functions_forget_with_clear_caches():
    calls = []

    @extend.functions.fused
    def f(x):
        calls.append(1)
        return x + 1.0

    x = rb.device_put(np.float32([1]))
    f(x), f(x)
    rb.clear_caches()
    assert f(x).tolist() == [2] and len(calls) == 2
