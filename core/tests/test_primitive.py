"""Primitives and operators: interned, bounded, of known kinds, with at most one rule of each sort."""

import copy
import inspect
import pickle
import re

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import RuleConflict
from rabbet.extend.primitive import Primitive
from rabbet.primitives.catalogue import by_public_name
from rabbet.program.avals import ShapedArray
from rabbet.rules import primitive
from rabbet.rules.parameters import SHARED, of_core

F32 = ShapedArray((3,), "float32")


def fresh(name="fresh", **how):
    """A primitive that no other test sees."""
    return Primitive(f"{name}_for_this_test", lambda *avals, **params: avals[0], **how)


# ---------------------------------------------------------------------------------------------------- ops
def test_equal_parameters_give_the_same_op():
    p = fresh()
    assert p.op(axis=1) is p.op(axis=1)
    assert p.op(axis=1) is not p.op(axis=2)
    assert p.op() is p.op()


def test_parameters_that_are_equal_but_of_another_type_are_another_op():
    """A program for 1 would otherwise be found for True, whose dtype is another."""
    p = fresh()
    p.op(fill=1)
    assert type(p.op(fill=True).params["fill"]) is bool
    assert type(p.op(fill=1.0).params["fill"]) is float
    assert str(p.op(fill=-0.0).params["fill"]) == "-0.0"
    assert str(p.op(fill=0.0).params["fill"]) == "0.0"


def test_unhashable_parameters_make_an_op_that_is_not_kept():
    p = fresh()
    op = p.op(table=[1, 2])
    assert op.params == {"table": [1, 2]}
    assert op is not p.op(table=[1, 2])


def test_the_table_of_ops_is_bounded():
    p = fresh()
    for i in range(primitive.MOST_OPS + 10):
        p.op(start=i)
    assert len(p._ops) <= primitive.MOST_OPS


def test_an_op_tells_its_parameters():
    op = fresh("shift").op(by=2, wrap=True)
    assert (op["by"], op.params["wrap"]) == (2, True)
    assert repr(op) == "shift_for_this_test[by=2 wrap=True]"
    assert repr(lax.sin.op()) == "sin"
    assert repr(lax.sin) == "sin"


def test_the_shape_rule_runs_once_per_types():
    calls = []

    def abstract(x, *, n):
        calls.append(x)
        return x.update(shape=(n,))

    p = Primitive("counting_shape_rule", abstract)
    assert p.op(n=4).out((F32,)) is ShapedArray((4,), "float32")
    assert p.op(n=4).out((F32,)) is ShapedArray((4,), "float32")
    assert p.op(n=4).outs((F32,)) == (ShapedArray((4,), "float32"),)
    assert len(calls) == 1
    p.op(n=5).out((F32,))
    assert len(calls) == 2


def test_outs_is_a_tuple_also_where_the_shape_rule_gives_a_list():
    p = Primitive("two_results", lambda x: [x, x], multiple_results=True)
    assert p.op().outs((F32,)) == (F32, F32)


# -------------------------------------------------------------------------------------------------- kinds
def test_every_kind_of_the_list_is_accepted_in_the_given_order():
    assert fresh(kinds=primitive.KINDS).kinds == primitive.KINDS
    assert fresh(kinds=("linear", "increasing")).kinds == ("linear", "increasing")


def test_an_unknown_kind_is_refused_with_the_list():
    with pytest.raises(
        ValueError,
        match=r"'fresh_for_this_test' declares unknown kinds \['monotone'\]; the kinds are elementwise,",
    ):
        fresh(kinds=("elementwise", "monotone"))


def test_a_refused_primitive_is_not_registered():
    with pytest.raises(ValueError, match="unknown kinds"):
        fresh("refused", kinds=("no such",))
    assert primitive.find("refused_for_this_test") is None


def test_elementwise_primitives_let_numbers_adopt():
    assert fresh(kinds=("elementwise",)).adopt == 0
    assert fresh().adopt is None
    assert fresh(kinds=("elementwise",), adopt=1).adopt == 1


# -------------------------------------------------------------------------------------------------- names
def test_a_second_primitive_of_one_name_is_a_conflict_that_shows_both_places():
    p = fresh("contested")
    with pytest.raises(RuleConflict) as caught:
        Primitive(p.name, lambda x: x)
    assert "there is already a primitive 'contested_for_this_test', made at" in str(caught.value)
    assert str(caught.value).count("test_primitive.py:") == 2
    assert primitive.find(p.name) is p
    with pytest.raises(RuleConflict, match=r"'sin', made at .*elementwise.py"):
        Primitive("sin", lambda x: x)


def test_a_primitive_that_is_made_again_takes_the_place_of_the_first():
    """As where a module is imported anew; a cell of a notebook may also move."""
    first = fresh("again")
    second = fresh("again")
    assert primitive.find(first.name) is second
    cells = {"__name__": "__main__", "Primitive": Primitive}
    for lines in ("", "\n\n"):
        exec(f"{lines}p = Primitive('again_in_a_cell_for_this_test', lambda x: x)", cells)
    assert primitive.find("again_in_a_cell_for_this_test") is cells["p"]


def test_a_primitive_that_is_gone_gives_its_name_free():
    def made_here():
        return Primitive("gone_for_this_test", lambda x: x).name

    name = made_here()
    assert Primitive(name, lambda x: x).name == name


# -------------------------------------------------------------------------------------------------- rules
def test_a_second_rule_is_a_conflict_that_shows_both_addresses():
    p = fresh()

    @p.rule("jvp")
    def first(op, x):
        return x

    with pytest.raises(RuleConflict) as caught:

        @p.rule("jvp")
        def second(op, x):
            return x

    message = str(caught.value)
    assert "'fresh_for_this_test' already has a 'jvp' rule" in message
    for function in (first,):
        assert f"test_primitive.py:{function.__code__.co_firstlineno}" in message
    assert message.count("test_primitive.py:") == 2
    assert p.rules["jvp"] is first


def test_rules_for_other_tables_and_platforms_stand_side_by_side():
    p = fresh()
    for table in ("lower", "lower:cuda", "enclose"):
        p.rule(table)(lambda op, x: x)
    assert list(p.rules) == ["lower", "lower:cuda", "enclose"]


def test_a_second_decomposition_is_a_conflict_that_shows_both_addresses():
    p = fresh()

    @p.decompose
    def first(op, x):
        return x

    with pytest.raises(RuleConflict) as caught:

        @p.decompose
        def second(op, x):
            return x

    assert str(caught.value).count("test_primitive.py:") == 2
    assert p.decomposition is first


def test_decorators_return_the_function():
    p = fresh()

    def rule(op, x):
        return x

    assert p.rule("batch")(rule) is rule
    assert p.decompose(rule) is rule


# -------------------------------------------------------------------------- names, pickles, places, calls
def test_primitives_pickle_by_name():
    assert pickle.loads(pickle.dumps(lax.sin)) is lax.sin
    assert copy.deepcopy(lax.sin) is lax.sin
    assert pickle.loads(pickle.dumps([lax.add, lax.mul])) == [lax.add, lax.mul]


def test_ops_pickle_to_the_interned_one():
    op = lax.sin.op()
    assert pickle.loads(pickle.dumps(op)) is op
    p = fresh("pickled")
    assert pickle.loads(pickle.dumps(p.op(axis=(1, 2)))) is p.op(axis=(1, 2))


def test_a_primitive_knows_where_it_was_made():
    p = fresh()
    assert p.where.file.endswith("test_primitive.py")
    assert p.__module__.endswith("test_primitive")


def test_all_primitives_are_listed_by_name():
    everything = primitive.all_primitives()
    assert everything["sin"] is lax.sin
    assert primitive.find("add") is lax.add
    assert primitive.find("no such") is None
    assert all(p.__doc__ for name, p in everything.items() if p.__module__.startswith("rabbet."))


def test_calling_a_primitive_and_its_op_is_the_same():
    x = rb.device_put(np.float32([1, 2, 3]))
    assert lax.add(x, x).tolist() == lax.add.op()(x, x).tolist() == [2, 4, 6]


def test_forget_drops_the_programs():
    x = rb.device_put(np.float32([1, 2, 3]))
    lax.sin(x)
    assert lax.sin.op().programs
    lax.sin.forget()
    assert not lax.sin.op().programs
    np.testing.assert_allclose(lax.sin(x), np.sin(np.float32([1, 2, 3])), rtol=1e-6)


def test_a_primitive_from_outside_runs_by_its_own_lowering_rule():
    double = Primitive("double_of_the_test", lambda x: x, kinds=("elementwise", "linear"), doc="2 x")

    @double.rule("lower")
    def lower_double(op, x):
        return op.emit(f"stablehlo.add {x}, {x} : {op.out.mlir}")

    assert double(rb.device_put(np.int32([1, 2]))).tolist() == [2, 4]
    assert double(3).item() == 6
    assert double(np.float32([1.5])).tolist() == [3.0]


def test_a_primitive_from_outside_runs_by_its_decomposition():
    hypotenuse = Primitive("hypotenuse_of_the_test", lambda x, y: x, kinds=("elementwise",))

    @hypotenuse.decompose
    def parts(op, x, y):
        return lax.sqrt(x * x + y * y)

    assert hypotenuse(rb.device_put(np.float32([3, 6])), 4.0).tolist() == pytest.approx([5, 52**0.5])


def test_operands_may_be_given_by_their_names():
    x = rb.device_put(np.float32([1, 4]))
    assert lax.sub(x, y=2.0).tolist() == lax.sub(y=2.0, x=x).tolist() == [-1, 2]
    assert lax.clamp(min=2.0, x=x, max=3.0).tolist() == [2, 3]
    assert lax.sqrt(x=x, accuracy=lax.AccuracyMode.DEFAULT).tolist() == [1, 2]
    shown = [str(inspect.signature(f)) for f in (lax.exp, lax.atan2, lax.nextafter, lax.select_n)]
    assert shown == ["(x, *, accuracy=None)", "(x, y)", "(x1, x2)", "(which, *cases)"]
    with pytest.raises(TypeError, match=r"sub\(x, y\): missing a required argument: 'x'"):
        lax.sub(y=x)
    with pytest.raises(TypeError, match=r"sub\(x, y\): multiple values for argument 'x'"):
        lax.sub(x, x=x)


@pytest.mark.parametrize("name", sorted(by_public_name()))
def test_every_parameter_of_a_primitive_of_core_is_documented(name):
    """By a type and a meaning; and nothing is documented that is not a parameter."""
    p = by_public_name()[name]
    assert [q for q, said in p.parameters.items() if not re.match(r"[^:]+: .", said)] == []
    assert (p._said or {}).keys() <= p.parameters.keys()


def test_a_parameter_that_nobody_documents_is_found():
    new = lambda x, axes, *, colour: x
    assert of_core(new, None) == {"axes": SHARED["axes"], "colour": ""}


def test_a_strangers_parameters_are_what_its_author_says():
    said = {"by": "float: the factor"}
    p = Primitive("said_of_test", lambda x, *, by: x, parameters=said)
    assert p.parameters == said
    assert Primitive("unsaid_of_test", lambda x, *, by: x).parameters == {}
