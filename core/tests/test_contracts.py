"""What rules return is looked at where they return it, while checks are on: the message names rule, package,
primitive and the expected type.
"""

import numpy as np
import pytest
import rabbet
from rabbet import config, lax
from rabbet.extend.primitive import Batched, Dual, Primitive, Zero, zero_tangent
from rabbet.extend.transform import Interpreter, RuleTable, run, typeof
from rabbet.rules import contracts
from rabbet.testing import driver

X = np.float32([1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def checks():
    with config.override(enable_checks=True):
        yield


@pytest.fixture
def primitive():
    """A new one each time: its rules are the test's."""
    made = Primitive(f"contract_{len(NAMES)}", lambda x: x, kinds=("elementwise",), doc="twice x")
    NAMES.append(made.name)
    made.rule("lower")(lambda op, x: op.emit(f"stablehlo.add {x}, {x} : {op.out.mlir}"))
    return made


NAMES = []


def differentiated(primitive):
    return driver.jvp(lambda x: (primitive(x),), (X,), (X,))


def mapped(primitive, x=X):
    return driver.vmap(lambda x: (primitive(x),), (0,))(x)


def transposed(primitive):
    return driver.vjp(lambda x: (primitive(x),), X)[1]((X,))


@pytest.mark.parametrize(
    "returned, message",
    [
        (
            lambda op, x: (op(x.primal), x.tangent),
            r"returned a tuple of 2; expected is Dual\(primal, tangent\) of type f32\[3\]",
        ),
        (
            lambda op, x: Dual(lax.reduce_sum(x.primal, (0,)), x.tangent),
            r"a primal of type f32\[\]; expected is f32\[3\]",
        ),
        (
            lambda op, x: Dual(op(x.primal), lax.reduce_sum(x.tangent, (0,))),
            r"tangent of type f32\[\]; expected is f32\[3\]",
        ),
        (
            lambda op, x: Dual(op(x.primal), lax.convert_element_type(x.tangent, "float16")),
            r"tangent of type f16\[3\]",
        ),
        (
            lambda op, x: Dual(op(x.primal), Zero(typeof(np.float32(0)))),
            r"the tangent Zero\(f32\[\]\); expected is f32\[3\]",
        ),
        (lambda op, x: Dual(op(x.primal), "nothing"), r"returned a str as the tangent; expected is f32\[3\]"),
        (lambda op, x: None, "returned a NoneType; expected is Dual"),
    ],
)
def test_a_jvp_rule(primitive, returned, message):
    primitive.rule("jvp")(returned)
    with pytest.raises(
        TypeError,
        match=rf"(?s)'jvp' rule for primitive '{primitive.name}'.*test_contracts.py:\d+\).*{message}",
    ):
        differentiated(primitive)


@pytest.mark.parametrize(
    "returned, message",
    [
        (
            lambda op, x: op(x.value),
            r"returned a \w+; expected is Batched\(value, axis\) whose examples are f32\[3\]",
        ),
        (
            lambda op, x: Batched(lax.transpose(op(x.value), (1, 0)), 0),
            "along axis 0, which has size 3; the batch has size 2",
        ),
        (lambda op, x: Batched(op(x.value), 5), r"returned the axis 5 for a value of type f32\[2,3\]"),
        (lambda op, x: Batched(op(x.value), -1), "returned the axis -1"),
        (
            lambda op, x: Batched(lax.reduce_sum(x.value, (1,)), 0),
            r"so examples are f32\[\]; expected are f32\[3\]",
        ),
    ],
)
def test_a_batch_rule(primitive, returned, message):
    primitive.rule("batch")(returned)
    with pytest.raises(TypeError, match=rf"(?s)'batch' rule for primitive '{primitive.name}'.*{message}"):
        mapped(primitive, np.stack([X, X]))


@pytest.mark.parametrize(
    "returned, message",
    [
        (lambda op, ct, x: ct, r"returned a \w+; expected is a tuple of 1, one for each operand"),
        (
            lambda op, ct, x: (lax.reduce_sum(ct, (0,)),),
            r"cotangent of type f32\[\] for operand 0; expected is f32\[3\]",
        ),
        (lambda op, ct, x: ("ct",), r"returned a str for operand 0; expected is a cotangent of f32\[3\]"),
    ],
)
def test_a_transpose_rule(primitive, returned, message):
    primitive.rule("jvp")(lambda op, x: Dual(op(x.primal), op(x.tangent)))
    primitive.rule("transpose")(returned)
    with pytest.raises(TypeError, match=rf"(?s)'transpose' rule for primitive '{primitive.name}'.*{message}"):
        transposed(primitive)


@pytest.mark.parametrize(
    "returned, message",
    [
        (
            lambda op, x: op.emit(
                f"stablehlo.compare GT, {x}, {x} : ({op.out.mlir}, {op.out.mlir}) -> tensor<3xi1>"
            ),
            "written as tensor<3xi1>; expected is tensor<3xf32>",
        ),
        (
            lambda op, x: None,
            "returned a NoneType; expected are names of StableHLO values of types tensor<3xf32>",
        ),
        (lambda op, x: [x, x], "returned 2 names; expected are 1"),
    ],
)
def test_a_lower_rule(returned, message):
    made = Primitive(f"contract_{len(NAMES)}", lambda x: x, doc="of a test")
    NAMES.append(made.name)
    made.rule("lower")(returned)
    with pytest.raises(TypeError, match=rf"(?s)'lower' rule for primitive '{made.name}'.*{message}"):
        made(lax.add(X, 0.0))


@pytest.mark.parametrize(
    "parts, message",
    [
        (lambda op, x: lax.reduce_sum(x, (0,)), r"returned f32\[\], and the shape rule says f32\[3\]"),
        (lambda op, x: [x, x], r"returned a list of 2, and the shape rule says one array: f32\[3\]"),
        (
            lambda op, x: lax.convert_element_type(x, "int32"),
            r"returned i32\[3\], and the shape rule says f32\[3\]",
        ),
    ],
)
def test_a_decomposition(parts, message):
    made = Primitive(f"contract_{len(NAMES)}", lambda x: x, doc="of a test")
    NAMES.append(made.name)
    made.decompose(parts)
    with pytest.raises(
        TypeError, match=rf"(?s)the decomposition of primitive '{made.name}'.*test_contracts.*{message}"
    ):
        differentiated(made)


def test_rules_that_keep_their_contract_pass(primitive):
    primitive.rule("jvp")(lambda op, x: Dual(op(x.primal), op(x.tangent)))
    primitive.rule("transpose")(lambda op, ct, x: (lax.mul(ct, 2.0),))
    assert np.asarray(differentiated(primitive)[1][0]).tolist() == [2, 4, 6]
    assert np.asarray(transposed(primitive)[0]).tolist() == [2, 4, 6]
    assert np.asarray(mapped(primitive)[0]).tolist() == [2, 4, 6]
    step = Primitive(f"contract_{len(NAMES)}", lambda x: x.update(dtype="int32", weak_type=False))
    NAMES.append(step.name)
    step.decompose(lambda op, x: lax.convert_element_type(x, "int32"))
    step.rule("jvp")(lambda op, x: Dual(op(x.primal), zero_tangent(typeof(op(x.primal)))))
    differentiated(step)


def test_a_table_of_ones_own_has_a_contract_too(primitive):
    def of_signs(op, signs, out):
        return None if out in (-1, 1) else f"returned {out!r}; expected is -1 or 1"

    rules = RuleTable("signs_of_contracts", contract=of_signs)

    @rules.otherwise
    def sign(op, *signs):
        return 0

    class Signs(Interpreter):
        table = rules

        def lift(self, value):
            return 1

        def type_of(self, sign):
            return typeof(np.float32(1))

    with pytest.raises(TypeError, match=r"'signs_of_contracts' rule .*returned 0; expected is -1 or 1"):
        run(Signs(), lambda x: lax.sin(x), [1])


def test_nothing_is_wrapped_while_nobody_asks(monkeypatch, primitive):
    monkeypatch.setattr(contracts, "wanted", False)
    with config.override(enable_checks=False):
        rule = primitive.rule("jvp")(lambda op, x: Dual(op(x.primal), op(x.tangent)))
        assert driver.jvp_table.lookup(primitive) is rule
    with config.override(enable_checks=True):
        assert driver.jvp_table.lookup(primitive) is not rule


def test_checks_that_are_off_again_look_at_nothing(primitive):
    primitive.rule("jvp")(lambda op, x: Dual(op(x.primal), lax.reduce_sum(x.tangent, (0,))))
    with config.override(enable_checks=False):
        assert np.asarray(differentiated(primitive)[1][0]).tolist() == 6.0


def test_a_kind_without_its_parameters_is_refused_when_the_primitive_is_made():
    with pytest.raises(
        TypeError, match=r"'gone' declares the kind 'reduction', whose rules read the parameter 'axes'"
    ):
        Primitive("gone", lambda x, dims: x, kinds=("reduction",))


def test_a_rule_for_all_others_goes_before_decompositions_if_it_says_so():
    made = Primitive(f"contract_{len(NAMES)}", lambda x: x)
    NAMES.append(made.name)
    made.decompose(lambda op, x: lax.add(x, x))
    late, early = RuleTable("late_resort"), RuleTable("early_resort")
    late.otherwise(lambda op, x: x)
    early.otherwise(lambda op, x: x, before_decompositions=True)
    assert late.explain(made).source == "decomposition" and early.explain(made).source == "otherwise"
    whole = RuleTable("whole_resort")

    @whole.otherwise(before_decompositions=True)
    def seen(op, x):
        return x

    assert whole.explain(made).rule is seen and rabbet.__version__


# Without checks: what fails on the result of a rule says whose result it is ---------------------------


def named_after(name, **rules):
    primitive = Primitive(name, lambda x: x)
    negate = lambda op, x: op.emit(f"stablehlo.negate {x} : {op.out.mlir}")
    for table, rule in {"lower": negate, **rules}.items():
        primitive.rule(table)(rule)
    return primitive


ONES = np.ones((2, 3), np.float32)
RUBBISH = {
    "a tuple for a dual": (
        {"jvp": lambda op, x: (x.primal, x.tangent)},
        lambda f: driver.jvp(lambda x: (f(x),), (ONES,), (ONES,)),
        r"the 'jvp' rule for primitive 'rubbish_0' .*test_contracts.py:\d+\) returned a tuple of 2; .*Dual",
    ),
    "no tuple of cotangents": (
        {"jvp": lambda op, x: Dual(op(x.primal), op(x.tangent)), "transpose": lambda op, ct, x: ct},
        lambda f: driver.vjp(lambda x: (f(x),), ONES)[1]((ONES,)),
        r"the 'transpose' rule for primitive 'rubbish_1' .*expected is a tuple of 1",
    ),
    "a cotangent of another shape": (
        {"jvp": lambda op, x: Dual(op(x.primal), op(x.tangent)), "transpose": lambda op, ct, x: (0.0,)},
        lambda f: driver.vjp(lambda x: (f(x),), ONES)[1]((ONES,)),
        r"the 'transpose' rule for primitive 'rubbish_2' .*cotangent of type f32\[\].*expected is f32\[2,3\]",
    ),
    "no name": (
        {"lower": lambda op, x: None},
        lambda f: driver.jit(lambda x: (f(x),))(ONES),
        r"the 'lower' rule for primitive 'rubbish_3' .*returned a NoneType; expected are names of StableHLO",
    ),
    "a bare batch": (
        {"batch": lambda op, x: x.value},
        lambda f: driver.vmap(lambda x: (f(x),), (0,))(ONES),
        r"the 'batch' rule for primitive 'rubbish_4' .*expected is Batched",
    ),
}


@pytest.mark.parametrize("what", RUBBISH)
@pytest.mark.narrow
def test_a_rule_that_returns_rubbish_is_named_without_checks_too(what):
    rules, run, message = RUBBISH[what]
    primitive = named_after(f"rubbish_{list(RUBBISH).index(what)}", **rules)
    with config.override(enable_checks=False), pytest.raises(TypeError, match=f"(?s){message}"):
        run(primitive)
