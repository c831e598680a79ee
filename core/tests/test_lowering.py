"""Lowering: text that MLIR accepts, the user's lines in it, constants to the last bit, one function per
body.
"""

import re
import textwrap

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import MissingRule
from rabbet.extend.backend import compile_program
from rabbet.extend.backend import lower_program as trimmed
from rabbet.extend.passes import Equation, Jaxpr, Literal, Var, check, consts_as_inputs, stage
from rabbet.extend.primitive import Primitive, call_op
from rabbet.extend.transform import RuleSet
from rabbet.lowering import constants
from rabbet.lowering.module import lower_program
from rabbet.lowering.target import Target
from rabbet.program.avals import ShapedArray
from rabbet.program.context import context
from rabbet.runtime.jaxlib import mlir_modules

from . import toys

F = ShapedArray((), "float32")
F3 = ShapedArray((3,), "float32")
ONES = np.ones(3, np.float32)


def lowered(fn, *avals, **how):
    """The module of a function of arrays, parsed by MLIR as it goes."""
    closed = check(stage(lambda *xs: _listed(fn(*xs)), avals))
    module = lower_program(consts_as_inputs(closed), "cpu", **how)
    mlir_modules.parse(module.text).operation.verify()
    mlir_modules.parse(module.key_text).operation.verify()
    return module


def _listed(out):
    return list(out) if isinstance(out, (tuple, list)) else [out]


# ----------------------------------------------------------------------------------------------- the text
def test_the_text_of_a_small_program():
    module = lowered(lambda x: lax.sin(x) * 2.0, F3, name="small")
    assert module.key_text == textwrap.dedent("""\
        module @small {
        func.func public @main(%arg0: tensor<3xf32>) -> (tensor<3xf32>) {
        %c0 = stablehlo.constant dense<2.0000000000e+00> : tensor<f32>
        %1 = stablehlo.sine %arg0 : tensor<3xf32>
        %2 = stablehlo.broadcast_in_dim %c0, dims = [] : (tensor<f32>) -> tensor<3xf32>
        %3 = stablehlo.multiply %1, %2 : tensor<3xf32>
        return %3 : tensor<3xf32>
        }
        }""")


PROGRAMS = {
    "nothing": lambda: [],
    "identity": lambda x: x,
    "a number": lambda x: 2.0,
    "the same twice": lambda x: (x, x),
    "constants": lambda x: x + 1.0 - 1.0,
    "captured": lambda x: x * ONES,
    "shapes": lambda x: lax.reduce_sum(lax.reshape(x, (3, 1)), (0,)),
    "call": lambda x: toys.jit(lax.sin)(x) + 1.0,
    "call without results": lambda x: (toys.jit(lambda y: ())(x), x)[1],
    "call with two results": lambda x: toys.jit(lambda y: (y, y * 2.0))(x),
    "convert": lambda x: (
        x.astype("int8"),
        x.astype(bool),
        x.astype("float16"),
        x.astype("float64"),
        x.astype("complex64"),
    ),
}


@pytest.mark.parametrize("fn", PROGRAMS.values(), ids=PROGRAMS)
def test_programs_parse_and_verify(fn):
    avals = [F3] * fn.__code__.co_argcount
    lowered(fn, *avals)
    if avals:
        args = [ONES * 2]
        for got, wanted in zip(_listed(toys.jit(fn)(*args)), _listed(fn(*args)), strict=True):
            np.testing.assert_array_equal(np.asarray(got), np.asarray(wanted))


@pytest.mark.parametrize("name", ["<lambda>", "größe", "1st", "a.b", "", "x" * 300, 'quote"d'])
def test_any_name_makes_a_module(name):
    module = lowered(lambda x: toys.jit(lax.sin)(x), F, name=name)
    assert re.match(r"module @[A-Za-z_]\w* \{", module.text, re.ASCII)


# --------------------------------------------------------------------------------------------- the places
SOURCE = """
def model(x):
    y = lax.sin(x)
    return (y *
            y)
"""


def model_at(line, file="/home/ann/model.py"):
    """The same function further down in its file."""
    names = {"lax": lax}
    exec(compile("\n" * line + SOURCE, file, "exec"), names)
    return names["model"]


def test_operations_carry_the_users_file_line_and_column():
    module = lowered(model_at(0), F)
    assert 'loc("/home/ann/model.py":3:9)' in module.text
    assert 'loc("/home/ann/model.py":4:13)' in module.text
    for line in module.text.splitlines():
        if "stablehlo" in line:
            assert re.search(r" loc\(#l\d+\)$", line), line


def test_what_a_rule_stages_comes_from_the_line_of_its_operation():
    def looped(x):
        return lax.scan(lambda c, _: (lax.sin(c), None), x, None, length=3)[0]

    module = lowered(looped, F)
    line = looped.__code__.co_firstlineno + 1
    places = re.findall(r'= loc\("([^"]*)":(\d+):\d+\)', module.text)
    assert places and set(places) == {(__file__, str(line))}
    assert context.where is None and not context.is_lowering


def test_the_place_survives_in_the_compiled_program():
    lowering = trimmed(stage(lambda x: [model_at(0)(x)], [F3]).jaxpr, "cpu")
    text = compile_program(lowering).hlo_text()
    # An instruction has the number of a frame, whose place and file stand in tables above.
    named, frame = re.search(r'sine\(.*op_name="([^"]*)" stack_frame_id=(\d+)', text).groups()
    place = re.search(rf"(?m)^{frame} {{file_location_id=(\d+)", text)[1]
    file, line = re.search(rf"(?m)^{place} {{file_name_id=(\d+) .*\bline=(\d+)", text).groups()
    assert (named, line) == ("jit(main)/sin", "3")
    assert re.search(rf'(?m)^{file} "/home/ann/model.py"$', text)


def test_moving_a_function_does_not_change_what_is_compiled():
    one, two = lowered(model_at(0), F), lowered(model_at(40), F)
    other = lowered(model_at(0, "/elsewhere/other.py"), F)
    assert one.text != two.text
    assert one.key_text == two.key_text == other.key_text
    assert "loc(" not in one.key_text


def test_file_names_with_quotes_and_backslashes():
    lowered(model_at(0, 'C:\\new "folder"\\model.py'), F)


def test_equations_in_a_body_carry_their_own_lines():
    def inner(x):
        return lax.cos(x)

    module = lowered(lambda x: toys.jit(inner)(x), F)
    line = next(line for line in module.text.splitlines() if "cosine" in line)
    named = re.search(r"loc\((#l\d+)\)$", line).group(1)
    definition = re.search(rf'(?m)^{named} = loc\("cos"\((#l\d+)\)\)$', module.text).group(1)
    assert re.search(
        rf'{definition} = loc\(".*test_lowering.py":{inner.__code__.co_firstlineno + 1}:', module.text
    )


def test_the_parts_of_an_operation_stand_at_its_line():
    def squares(x):
        y = lax.square(x)
        return lax.square(y)

    module = lowered(squares, F)
    first = squares.__code__.co_firstlineno
    lines = re.findall(r'loc\(".*test_lowering.py":(\d+):', module.text)
    assert [int(line) - first for line in lines] == [1, 2]


def test_an_equation_without_a_place_is_fine():
    a, b = Var(F), Var(F)
    module = lower_program(Jaxpr([a], [b], [Equation(lax.sin.op(), [a], [b])]), "cpu")
    mlir_modules.parse(module.text)


# ------------------------------------------------------------------------------------------ the constants
VALUES = {
    "float32": [
        0.0,
        -0.0,
        1.0,
        -1.5,
        0.1,
        1e-45,
        3.4028235e38,
        1.1754944e-38,
        np.inf,
        -np.inf,
        np.nan,
        1 / 3,
    ],
    "float64": [
        0.0,
        -0.0,
        0.1,
        5e-324,
        1.7976931348623157e308,
        np.inf,
        -np.inf,
        np.nan,
        1 / 3,
        np.pi,
        1 + 2**-52,
    ],
    "float16": [0.0, -0.0, 0.1, 6e-8, 65504.0, np.inf, -np.inf, np.nan, 1 / 3],
    "bfloat16": [0.0, -0.0, 0.1, 1e-40, 3.3895314e38, np.inf, -np.inf, np.nan, 1 / 3],
    "complex64": [
        0j,
        complex(-0.0, 0.0),
        complex(0.0, -0.0),
        1 / 3 - 2j,
        complex(np.inf, -np.inf),
        complex(np.nan, 1),
    ],
    "complex128": [1 / 3 - 2j, complex(-0.0, np.inf), complex(5e-324, -1e308)],
    "bool": [True, False],
    "int8": [-128, 127, 0],
    "uint8": [255, 0],
    "int16": [-32768, 32767],
    "uint16": [65535],
    "int32": [-(2**31), 2**31 - 1],
    "uint32": [2**32 - 1],
    "int64": [-(2**63), 2**63 - 1, 2**53 + 1],
    "uint64": [2**64 - 1, 2**63 + 1],
}


def all_values():
    needs = {"bfloat16": [pytest.mark.needs("bfloat16")]}
    return [
        pytest.param(v, d, id=f"{d}-{v}", marks=needs.get(d, []))
        for d, values in VALUES.items()
        for v in values
    ]


def run_constant(value, dtype, shape=()):
    """A constant, through MLIR, the compiler and back."""
    p = Primitive("constant_of_test_lowering", lambda: ShapedArray(shape, dtype))
    p.rule("lower")(lambda op: op.constant(value, op.out))
    return np.asarray(p())


@pytest.mark.parametrize(("value", "dtype"), all_values())
def test_scalar_constants_are_exact(value, dtype):
    if dtype == "bfloat16":
        import ml_dtypes

        wanted = np.asarray(value).astype(ml_dtypes.bfloat16)
    else:
        wanted = np.asarray(value).astype(dtype)
    got = run_constant(value if wanted.dtype.kind not in "iu" else wanted, dtype)
    assert got.dtype == wanted.dtype
    if np.isnan(wanted):
        assert np.isnan(got)
    else:
        assert got.tobytes() == wanted.tobytes()


@pytest.mark.forbidden("debug_nans", "debug_infs")
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "complex64", "int32", "uint64", "bool"])
def test_array_constants_are_exact(dtype):
    values = np.asarray(VALUES[dtype]).astype(dtype)
    got = run_constant(values, dtype, values.shape)
    np.testing.assert_array_equal(got, values)
    assert got.tobytes() == values.tobytes()


def test_arrays_of_one_value_of_both_zeros_and_of_nothing():
    for values in (
        np.full((2, 3), 7, np.int32),
        np.float32([0.0, -0.0]),
        np.float32([-0.0, -0.0]),
        np.zeros((0, 3), np.float32),
    ):
        got = run_constant(values, values.dtype.name, values.shape)
        assert got.tobytes() == values.tobytes() and got.shape == values.shape
    assert constants.dense(np.full(1000, 3, np.int32), np.dtype("int32")) == "dense<3>"


@pytest.mark.narrow
def test_literals_that_are_equal_but_not_the_same_stay_apart():
    out = toys.jit(lambda x: (x * 0.0, x * -0.0, x + 1, x + 1.0, x + True))(rb.device_put(np.float32(1)))
    assert [str(o.item()) for o in out] == ["0.0", "-0.0", "2.0", "2.0", "2.0"]
    mixed = toys.jit(lambda: (lax.add(1, 0), lax.add(1.0, 0.0), lax.add(True, 1)))()
    assert [o.dtype.name for o in mixed] == ["int32", "float32", "int32"]


def test_a_constant_is_written_once_per_function():
    text = lowered(lambda x: x * 2.0 + 2.0 - 2.0, F).key_text
    assert text.count("stablehlo.constant") == 1


# ---------------------------------------------------------------------------------------------- the calls
def test_a_body_is_one_function_however_often_it_is_called():
    body = consts_as_inputs(stage(lambda x: [lax.sin(x) * 2.0], [F]))
    call = call_op(body, "step")
    module = lowered(lambda x: call(call(call(x)[0])[0])[0], F)
    assert module.key_text.count("func.func private @step(") == 1
    assert module.key_text.count("func.call @step(") == 3


def test_bodies_of_one_name_are_functions_of_their_own():
    module = lowered(lambda x: toys.jit(lambda y: y + 1.0)(toys.jit(lambda y: y * 2.0)(x)), F)
    assert len(set(re.findall(r"func.func private @(\w+)\(", module.key_text))) == 2


def test_a_body_called_main_does_not_clash():
    def main(x):
        return x + 1.0

    module = lowered(lambda x: toys.jit(main)(x), F)
    assert module.key_text.count("func.func public @main(") == 1
    assert "func.func private @main_1(" in module.key_text


def test_names_that_look_numbered_do_not_clash():
    f = lambda x: x + 1.0
    g, h = (lambda x: x + 2.0), (lambda x: x + 3.0)
    f.__name__, g.__name__, h.__name__ = "f", "f", "f_1"
    for order in ((f, g, h), (h, f, g), (f, h, g)):
        module = lowered(lambda x, order=order: sum((toys.jit(k)(x) for k in order), x), F)
        found = re.findall(r"func.func private @(\w+)\(", module.key_text)
        assert len(found) == len(set(found)) == 3


# -------------------------------------------------------------------------------- rules, parts, platforms
def test_decompositions_are_written_in_place():
    p = Primitive("parts_of_test_lowering", lambda x, n: x, kinds=("elementwise",))

    @p.decompose
    def parts(op, x):
        for _ in range(op["n"]):
            x = lax.sin(x)
        return x

    text = lowered(lambda x: p(x, n=3), F).key_text
    assert text.count("stablehlo.sine") == 3 and "call" not in text
    assert float(p(1.0, n=2)) == pytest.approx(np.sin(np.sin(1.0)))


def test_a_decomposition_with_several_results():
    p = Primitive("two_parts_of_test_lowering", lambda x: (x, x), multiple_results=True)
    p.decompose(lambda op, x: [lax.sin(x), x])
    assert [float(v) for v in toys.jit(lambda x: p(x))(0.0)] == [0.0, 0.0]


def test_arrays_that_a_decomposition_captures_are_constants():
    p = Primitive("greedy_of_test_lowering", lambda x: x)
    p.decompose(lambda op, x: lax.mul(lax.add(x, ONES), lax.mul(ONES, 2.0)))
    assert lowered(lambda x: p(x), F3).key_text.count("dense<1.0") == 1
    assert toys.jit(lambda x: p(p(x)))(ONES).tolist() == [10.0] * 3


def test_a_primitive_without_lowering_names_the_users_line():
    p = Primitive("unlowered_of_test_lowering", lambda x: x, kinds=("linear",))

    def fn(x):
        y = x + 1.0
        return p(y)

    with pytest.raises(MissingRule) as caught:
        lowered(fn, F)
    text, path = str(caught.value), rb.messages.source_positions.short_path(__file__)
    assert "no 'lower' rule for primitive 'unlowered_of_test_lowering' (kinds: linear)" in text
    assert f"called at {path}:{fn.__code__.co_firstlineno + 2}" in text


def test_it_is_named_through_a_decomposition_too():
    p = Primitive("unlowered_part_of_test_lowering", lambda x: x)
    q = Primitive("whole_of_test_lowering", lambda x: x)
    q.decompose(lambda op, x: p(x))
    with pytest.raises(MissingRule, match="reached from the decomposition of 'whole_of_test_lowering'"):
        lowered(lambda x: q(x), F)


def test_platforms_have_rules_of_their_own():
    p = Primitive("by_platform_of_test_lowering", lambda x: x)
    p.rule("lower")(lambda op, x: op.emit(f"stablehlo.sine {x} : {op.out.mlir}"))
    p.rule("lower:tpu")(lambda op, x: op.emit(f"stablehlo.cosine {x} : {op.out.mlir}"))
    jaxpr = stage(lambda x: [p(x)], [F]).jaxpr
    assert "sine" in lower_program(jaxpr, "cpu").key_text
    assert "cosine" in lower_program(jaxpr, "tpu").key_text


def test_a_backends_own_rules_come_first():
    own = RuleSet("lower")

    @own.primitive(lax.sin)
    def lower_sin(op, x):
        assert op.platform == "toaster" and op.primitive is lax.sin
        return op.emit(f"stablehlo.tanh {x} : {op.out.mlir}")

    jaxpr = stage(lambda x: [lax.sin(x)], [F]).jaxpr
    assert "tanh" in lower_program(jaxpr, Target("toaster", own)).key_text
    assert "sine" in lower_program(jaxpr, "toaster").key_text


def test_what_a_rule_is_given():
    seen = {}
    p = Primitive("site_of_test_lowering", lambda x, y, k: (x, y), multiple_results=True)

    @p.rule("lower")
    def lower_site(op, x, y):
        seen.update(
            params=op.params,
            k=op["k"],
            ins=list(op.in_avals),
            outs=list(op.out_avals),
            out=op.out,
            platform=op.platform,
        )
        pair = op.emit_many(f'"stablehlo.custom"({x}, {y}) : ...', 2)
        assert re.fullmatch(r"%\d+#0", pair[0])
        return [x, y]

    jaxpr = stage(lambda x, y: p(x, y, k=5), [F, F3]).jaxpr
    lower_program(jaxpr, "cpu")
    assert seen == {"params": {"k": 5}, "k": 5, "ins": [F, F3], "outs": [F, F3], "out": F, "platform": "cpu"}


def test_a_rule_that_writes_nonsense_is_reported_with_the_module():
    p = Primitive("nonsense_of_test_lowering", lambda x: x)
    p.rule("lower")(lambda op, x: op.emit(f"stablehlo.no_such_thing {x} : {op.out.mlir}"))
    with pytest.raises(Exception, match="no_such_thing"):
        p(1.0)


# --------------------------------------------------------------------------------- arguments and donation
def test_donated_arguments_alias_an_output_of_their_type_or_are_given_away():
    text = lowered(lambda x, y, z: (x * 2.0, y), F3, F, F3, donated=(0, 2)).key_text
    head = next(line for line in text.splitlines() if "@main(" in line)
    assert "%arg0: tensor<3xf32> {tf.aliasing_output = 0 : i32}" in head
    assert "%arg1: tensor<f32>," in head
    assert "%arg2: tensor<3xf32> {jax.buffer_donor = true}" in head


def test_two_donated_arguments_do_not_share_an_output():
    text = lowered(lambda x, y: (x + y, x - y), F, F, donated=(0, 1)).key_text
    assert sorted(re.findall(r"aliasing_output = (\d)", text)) == ["0", "1"]


@pytest.mark.narrow
def test_a_weak_output_may_take_a_strong_arguments_memory():
    text = lowered(lambda x: lax.add(1.0, 2.0), F, donated=(0,)).key_text
    assert "tf.aliasing_output = 0" in text


def test_other_attributes_of_arguments():
    jaxpr = stage(lambda x: [x], [F]).jaxpr
    text = lower_program(jaxpr, "cpu", arg_attributes=[(0, 'mhlo.sharding = "{replicated}"')]).key_text
    assert '%arg0: tensor<f32> {mhlo.sharding = "{replicated}"}' in text


def test_unused_arguments_are_left_out():
    jaxpr = stage(lambda x, y, z: [y + y], [F3, F, F3]).jaxpr
    lowering = trimmed(jaxpr, "cpu")
    assert lowering.kept == (1,) and not lowering.keeps_all
    assert "%arg1" not in lowering.module.text
    assert trimmed(jaxpr, "cpu", keep_unused=True).kept == (0, 1, 2)


def test_donation_counts_arguments_before_trimming():
    jaxpr = stage(lambda x, y: [y * 2.0], [F3, F]).jaxpr
    lowering = trimmed(jaxpr, "cpu", donated=(0, 1))
    assert lowering.donated == (0,)
    assert "%arg0: tensor<f32> {tf.aliasing_output = 0 : i32}" in lowering.module.text


def test_arguments_that_only_dead_code_reads_are_left_out():
    def fn(x, y):
        lax.sin(x)
        return [y]

    assert trimmed(stage(fn, [F, F]).jaxpr, "cpu").kept == (1,)


def test_captured_arrays_are_arguments_not_text():
    big = np.arange(1000, dtype=np.float32)
    closed = stage(lambda x: [x * big], [ShapedArray((1000,), "float32")])
    text = trimmed(closed.jaxpr, "cpu").module.text
    assert "dense<" not in text and "%arg1: tensor<1000xf32>" in text


def test_an_output_may_be_a_literal_an_input_and_the_same_value_twice():
    a = Var(F)
    jaxpr = check(Jaxpr([a], [Literal(2.5, F), a, a], []))
    out = call_op(jaxpr, "f")(rb.device_put(np.float32(7)))
    assert [float(v) for v in out] == [2.5, 7.0, 7.0]
