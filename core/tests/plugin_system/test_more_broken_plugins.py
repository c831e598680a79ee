"""More ways in which a stranger's package can be wrong: each is named with what to change, at load or where
its rule or pass returns, and everybody else goes on.
"""

import re

import ml_dtypes
import numpy as np
import pytest
import rabbet as rb
from rabbet import config, lax
from rabbet.dtypes import DTypeSpec, DTypeTable
from rabbet.errors import PluginConflictError, PluginError
from rabbet.extend.passes import Jaxpr, Pass, stage
from rabbet.extend.primitive import Primitive
from rabbet.extend.transform import RuleSet, RuleTable
from rabbet.passes import pipeline
from rabbet.primitives import extended_dtypes
from rabbet.rules import rule_sets
from rabbet.testing import driver

from .fakes import MODULE, manager, offer

F8 = ml_dtypes.float8_e3m4


def broken_limits():
    raise ZeroDivisionError("limits")


def broken_decode(codes):
    raise NameError("name 'int32' is not defined")


UNKNOWN = {"numpy_dtype": None, "mlir": None, "finfo": None, "codes": "int16", "compute": "float32"}


class Reversed:
    min, max = 1.0, -1.0


DTYPES = {
    "neighbours": ({"above": "float*"}, r"its 'above' is 'float\*'.*write a tuple of names"),
    "kind": ({"kind": "float"}, "its kind is 'float'.*one of the kinds b, i"),
    "stored": ({"numpy_dtype": "posit8"}, "NumPy does not know its numpy_dtype 'posit8'"),
    "limits": ({"finfo": broken_limits}, r"limits cannot be read \(ZeroDivisionError: limits\)"),
    "decoded": (
        {**UNKNOWN, "decode": broken_decode, "encode": broken_decode},
        r"its decode raises NameError: name 'int32' is not defined \(\S*more_broken_plugins.py:\d+\).*int16",
    ),
    "reversed": ({"finfo": Reversed}, "its smallest number 1.0 is not below its largest -1.0"),
    "overflow": ({"overflow": "wrap"}, "its overflow is 'wrap'.*'infinity', 'nan' or 'saturate'"),
}  # fmt: skip


@pytest.mark.parametrize("name", DTYPES)
def test_a_dtype_that_cannot_be(objects, name):
    changes, message = DTYPES[name]
    fields = {
        "numpy_dtype": F8, "mlir": "f8E3M4", "kind": "f", "above": ("float*",),
        "finfo": lambda: ml_dtypes.finfo(F8),
    }  # fmt: skip
    objects.thing = DTypeSpec(name, **{**fields, **changes})
    plugins = manager(*offer("rabbet-invalid", "rabbet.dtypes", **{name: f"{MODULE}:thing"}))
    with pytest.raises(PluginError, match=f"(?s)comes from rabbet-invalid 1.0 .*{message}.*RABBET_DISABLE"):
        plugins.get("rabbet.dtypes", name)


def test_a_dtype_that_changes_how_others_promote():
    table = DTypeTable()
    greedy = DTypeSpec("float8_e3m4", F8, "f8E3M4", "f", above=("int8", "uint8"), below=("int16",))
    with pytest.raises(PluginConflictError, match="would change how"):
        table.add(greedy)
    assert table.promote_types("int8", "uint8") == "int16"


@pytest.mark.parametrize(
    "raised", [SystemExit(3), RecursionError("deep"), MemoryError(), ImportError("no libfoo.so")]
)
def test_a_module_that_raises_whatever_while_it_is_imported(tmp_path, monkeypatch, raised):
    (tmp_path / "rabbet_raising_of_tests.py").write_text(
        f"raise {type(raised).__name__}('while importing')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    plugins = manager(*offer("rabbet-raising", "rabbet.api", raising="rabbet_raising_of_tests:thing"))
    with pytest.raises(PluginError, match=r"rabbet-raising 1\.0"):
        plugins.get("rabbet.api", "raising")
    assert lax.add(1.0, 1.0) == 2.0


def test_an_attribute_that_is_not_there(objects):
    plugins = manager(*offer("rabbet-absent", "rabbet.api", absent=f"{MODULE}:gone"))
    with pytest.raises(PluginError, match=r"(?s)rabbet-absent 1\.0.*gone"):
        plugins.get("rabbet.api", "absent")


def run_alone(one, monkeypatch):
    monkeypatch.setattr(pipeline, "_ordered", (one,))
    program = stage(lambda x: [lax.sin(x)], [rb.typeof(np.float32(1))]).jaxpr
    return pipeline.run(program, "cpu")


@pytest.mark.parametrize(
    "run, message",
    [
        (lambda jaxpr, context: None, "must return a Jaxpr, it returned NoneType"),
        (lambda jaxpr, context: [jaxpr], "must return a Jaxpr, it returned list"),
        (lambda jaxpr, context: Jaxpr(jaxpr.invars, [], jaxpr.equations), "changed the inputs or outputs"),
        (lambda jaxpr, context: Jaxpr(jaxpr.invars, jaxpr.outvars, []), "defin"),
        (lambda jaxpr, context: jaxpr.nothing, "nothing"),
    ],
    ids=["None", "a list", "fewer outputs", "an undefined variable", "an error"],
)
def test_a_pass_that_returns_no_program_is_named_with_the_switch(monkeypatch, run, message):
    with config.override(enable_checks=True), pytest.raises(Exception, match=message) as caught:
        run_alone(Pass("careless-of-tests", run), monkeypatch)
    assert any("RABBET_DISABLE_PASSES=careless-of-tests" in note for note in caught.value.__notes__)


def test_a_bridge_whose_rule_returns_something_else():
    """The message names the rule's place and the type that is expected."""
    primitive = Primitive("bridged_badly_of_tests", lambda x: x)
    primitive.rule("lower")(lambda op, x: x)
    bridge = RuleSet("batch")
    bridge.primitive(primitive)(lambda op, x: x.value)
    table = driver.batch
    with config.override(enable_checks=True), pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "_bridges", lambda name: [bridge])
        table.forget()
        with pytest.raises(
            TypeError, match=r"test_more_broken_plugins.py:\d+\) returned a \w+; expected is Batched"
        ):
            driver.vmap(lambda x: (primitive(x),), (0,))(np.float32([1.0, 2.0]))
    table.forget()


def test_two_bridges_for_one_primitive_are_both_named():
    primitive = Primitive("bridged_twice_of_tests", lambda x: x)
    bridges = []
    for _ in range(2):
        bridges.append(RuleSet("torn_of_tests"))
        bridges[-1].primitive(primitive)(lambda op, x: x)
    table = RuleTable("torn_of_tests", bridges=lambda name: bridges)
    with pytest.raises(rb.errors.RuleConflict, match="two packages bring a 'torn_of_tests' rule"):
        table.lookup(primitive)


@pytest.mark.parametrize("out, several", [((3,), False), (None, False), ("x", True), ((1, 2), True)])
def test_a_shape_rule_that_returns_no_type(out, several):
    name = f"shapeless_{several}_{out}_of_tests"
    primitive = Primitive(name, lambda x: out, multiple_results=several)
    primitive.decompose(lambda op, x: x)
    with pytest.raises(TypeError, match=r"shape rule of primitive 'shapeless.*test_more_broken.*expected is"):
        stage(lambda x: [primitive(x)], [rb.typeof(np.float32(1))])


# Beside what else is there -------------------------------------------------------------------------


def test_a_dtype_under_another_name_than_numpys(objects):
    objects.thing = DTypeSpec(
        "eighth", F8, "f8E3M4", "f", above=("float*",), finfo=lambda: ml_dtypes.finfo(F8), infinities=False
    )
    plugins = manager(*offer("rabbet-invalid", "rabbet.dtypes", eighth=f"{MODULE}:thing"))
    with pytest.raises(
        PluginError, match=r"(?s)rabbet-invalid 1.0.*NumPy calls its numpy_dtype 'float8_e3m4'"
    ):
        plugins.get("rabbet.dtypes", "eighth")


REFUSED = {
    "circle": (
        {"above": ("float32",), "below": ("float*",)},
        "in a circle: .*`above` names the dtypes that promote",
    ),
    "compute": ({"compute": "float33"}, "computes in 'float33', which no installed package has.*to fix"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_dtype_that_does_not_fit_is_refused_and_the_rest_of_the_table_stays(name):
    changes, message = REFUSED[name]
    fields = {"above": ("float*",), "finfo": lambda: ml_dtypes.finfo(F8), **changes}
    turned = DTypeSpec("float8_e3m4", F8, "f8E3M4", "f", **fields)
    table = DTypeTable(find_spec={"float8_e3m4": turned}.get)
    told = []
    table.refuse = lambda name, error: told.append((name, str(error)))
    assert table.find("float8_e3m4") is None
    assert told[0][0] == "float8_e3m4" and re.search(message, told[0][1], re.DOTALL)
    assert table.promote_types("float16", "float32") == "float32"


@pytest.mark.forbidden("numpy_dtype_promotion")
def test_a_broken_neighbour_is_as_good_as_none():
    def find(name):
        if name == "broken":
            raise PluginError("broken")

    table = DTypeTable(find_spec=find)
    table.add(DTypeSpec("float8_e3m4", F8, "f8E3M4", "f", above=("float*",), below=("broken", "float16")))
    assert table.promote_types("float8_e3m4", "float16") == "float16"


def test_passes_that_ask_for_what_the_others_do_not_are_alone_to_blame():
    same = lambda jaxpr, context: jaxpr
    dead, cse = Pass("dead", same), Pass("cse", same, before=("dead",))
    between = Pass("between", same, after=("dead",), before=("cse",))
    refused = {}
    assert pipeline.without_circles([dead, between, cse], refused.__setitem__) == [cse, dead]
    assert set(refused) == {"between"}
    assert "'cse' asks for 'cse' before 'dead'" in refused["between"]


def announcing(module, name="announced_of_tests", owner=__name__):
    rules = RuleSet("heard_of_tests")
    rules.later(module, name, owner=owner)
    return rules


ANNOUNCED = {
    "no module": (
        announcing("no_such_module_of_tests"),
        "module 'no_such_module_of_tests', whose import raised",
    ),
    "no function": (
        announcing("math"),
        "module 'math', which has no function of that name.*def announced_of_tests",
    ),
    "no primitive": (
        announcing("math", "sin", __name__),
        "primitive 'sin' of .*is made in rabbet.primitives",
    ),
    "nobody's": (announcing("math", "cosh_of_nobody"), "which has no function"),
}


@pytest.mark.parametrize("name", ANNOUNCED)
def test_an_announced_rule_that_is_not_there_is_found(name):
    rules, message = ANNOUNCED[name]
    made = Primitive("announced_of_tests", lambda x: x)
    (problem,) = rules.problems({"announced_of_tests": made, "sin": lax.sin}.get)
    assert re.search(message, problem, re.DOTALL)


def test_looking_up_an_announced_rule_that_is_not_there_hurts_nobody(monkeypatch):
    made = Primitive("announced_again_of_tests", lambda x: x)
    rules = announcing("no_such_module_of_tests", made.name)
    told = []
    monkeypatch.setattr(rule_sets, "refuse_announced", lambda rules, error: told.append(str(error)))
    table = RuleTable("heard_of_tests", bridges=lambda name: [rules])
    table.otherwise(lambda op, x: x)
    for _ in range(2):
        table.forget()
        assert table.explain(made).source == "otherwise"
    assert len(told) == 1 and "no_such_module_of_tests" in told[0]


def test_the_message_of_a_missing_rule_knows_what_was_meant():
    rules = RuleSet("missed_of_tests")
    rules.later("math", "sin", owner="rabbet.lax")
    table = RuleTable("missed_of_tests", bridges=lambda name: [rules])
    with pytest.raises(
        rb.errors.MissingRule, match=r"to fix: RuleSet.later\(..., owner='rabbet.primitives'\)"
    ):
        table.lookup(lax.sin)
    made = Primitive("misspelt_of_tests", lambda x: x)
    made.rule("mised_of_tests")(lambda op, x: x)
    with pytest.raises(
        rb.errors.MissingRule, match=r"a rule 'mised_of_tests' beside the primitive.*did you mean"
    ):
        table.lookup(made)


def test_an_extended_dtype_has_no_row_and_its_arrays_say_how_to_look_inside():
    fixed = rb.dtypes.ExtendedDType("fixed8_8_of_tests", "int32")
    with pytest.raises(TypeError, match=r"(?s)an extended dtype, which has no row.*physical_dtype \(int32\)"):
        rb.dtypes.spec(fixed)
    prices = extended_dtypes.from_physical(np.int32([256]), dtype=fixed)
    with pytest.raises(TypeError, match=r"rabbet.extend.primitive.to_physical.x. gives what it stores"):
        np.asarray(prices)
