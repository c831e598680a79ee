"""Models in ONNX Runtime compute what the functions compute."""

import doctest
import re

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import MissingRule

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")

RNG = np.random.RandomState(0)
X, Y = RNG.randn(3, 4).astype("f4"), RNG.randn(3, 4).astype("f4")
POSITIVE = abs(X) + 0.1
IMAGE, KERNEL = RNG.randn(2, 3, 8, 9).astype("f4"), RNG.randn(6, 3, 3, 2).astype("f4")
INTS = RNG.randint(-5, 6, (3, 4)).astype("i4")


def run(model, *args):
    session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [i.name for i in session.get_inputs()]
    return session.run(None, dict(zip(names, map(np.asarray, rb.tree.leaves(args)), strict=True)))


def agrees(fun, *args, rtol=2e-5, atol=2e-6):
    """What the model computes is what the function computes, in the same types."""
    model = rb.onnx.export(fun, *args)
    found, expected = run(model, *args), rb.tree.leaves(fun(*rb.device_put(args)))
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
        np.testing.assert_allclose(mine, np.asarray(theirs), rtol=rtol, atol=atol)
    return model


UNARY = """exp sin cos tan tanh asinh sinh cosh atan sqrt abs neg sign floor ceil logistic erf square rsqrt
cbrt exp2 log log1p expm1 stop_gradient""".split()


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array(name):
    x = POSITIVE if name in ("sqrt", "rsqrt", "log", "log1p") else X
    agrees(getattr(lax, name), x)


@pytest.mark.parametrize("name", ["asin", "acos", "atanh", "acosh"])
def test_functions_of_a_part_of_the_line(name):
    agrees(getattr(lax, name), POSITIVE + 1 if name == "acosh" else np.tanh(X))


@pytest.mark.parametrize("name", ["log1p", "expm1"])
def test_functions_at_the_ends(name):
    agrees(getattr(lax, name), np.array([-np.inf, np.inf, np.nan, -1, -2, 1e38, 1e-30], "f4"))


@pytest.mark.parametrize("name", ["log1p", "expm1"])
def test_functions_that_are_exact_near_zero(name):
    x = np.array([1e-8, -1e-8, 1e-4, -1e-3, 0.3, -0.5, 0.0, 30.0, np.inf], "f4")
    agrees(getattr(lax, name), x, atol=0)


@pytest.mark.parametrize("name", "add sub mul div max min eq ne lt le gt ge rem".split())
def test_functions_of_two_arrays(name):
    agrees(getattr(lax, name), X, Y)
    agrees(getattr(lax, name), INTS, INTS * 2 + 5)
    agrees(lambda x: getattr(lax, name)(x, 1.5), X)


ELEMENTWISE = {
    "pow": lambda x: lax.pow(abs(x) + 1, lax.tanh(x)),
    "integer_pow": lambda x: lax.integer_pow(x, 3) + lax.integer_pow(x, -2),
    "integers": lambda x: lax.integer_pow(lax.convert_element_type(x * 3, "int32"), 3),
    "logic": lambda x: ((x > 0) & (x < 1)) | ~(x > 0.5) ^ (x == 2),
    "bits": lambda x: (lax.convert_element_type(x * 9, "int32") & 5) ^ 3,
    "select": lambda x: lax.select(x > 0, x, -2 * x),
    "clamp": lambda x: lax.clamp(-0.5, x, 0.5),
    "finite": lambda x: lax.is_finite(x / lax.max(x, 0.0)),
    "round": lambda x: lax.round(x * 4, lax.RoundingMethod.TO_NEAREST_EVEN),
    "convert": lambda x: (
        lax.convert_element_type(x * 3, "int8"),
        lax.convert_element_type(x, "float16"),
        x != 0,
    ),
    "bool extremes": lambda x: (lax.max(x > 0, x < 0), lax.min(x > 0, x > 1)),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise(name):
    agrees(ELEMENTWISE[name], X)


LAYOUT = {
    "reshape": lambda x: lax.reshape(x, (2, 6)),
    "transpose": lambda x: lax.transpose(x, (1, 0)),
    "broadcast": lambda x: lax.broadcast_in_dim(x, (2, 3, 5, 4), (1, 3)),
    "expand": lambda x: lax.expand_dims(x, (0, 3)),
    "squeeze": lambda x: lax.squeeze(x[:1], (0,)),
    "concatenate": lambda x: lax.concatenate([x, x * 2], 1),
    "slice": lambda x: lax.slice(x, (1, 0), (3, 4), (1, 2)),
    "reverse": lambda x: lax.rev(x, (0, 1)),
    "pad": lambda x: lax.pad(x, 2.5, ((1, 2, 0), (-1, 1, 0))),
    "spread": lambda x: lax.pad(x, 2.5, ((1, 0, 2), (0, -2, 1))),
    "iota": lambda x: x + lax.broadcasted_iota("float32", (3, 4), 1),
    "index": lambda x: x[1, ::2],
}


@pytest.mark.parametrize("name", LAYOUT)
def test_layout(name):
    agrees(LAYOUT[name], X)


@pytest.mark.parametrize("start", [-7, 0, 1, 9])
def test_slices_at_computed_places(start):
    i = np.int32(start)
    agrees(lambda x, i: lax.dynamic_slice(x, (i, 1), (2, 2)), X, i)
    agrees(lambda x, i: lax.dynamic_update_slice(x, x[:2, :2] * 0, (i, i)), X, i)


@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_indexing_by_arrays(mode):
    i, j = np.array([[2, 0], [1, 7]], "i4"), np.array([[3, -9], [1, 0]], "i4")
    agrees(lambda x, i: x.at[i].get(mode=mode), X, i)
    agrees(lambda x, i: x.at[:, i].get(mode=mode), X, i)
    agrees(lambda x, i, j: x.at[i, j].get(mode=mode), X, i, j)
    agrees(lambda x, i: x.at[i].get(mode=mode), INTS, i)


REDUCTIONS = {
    "sum": lambda x: (lax.reduce_sum(x, (0,)), lax.reduce_sum(x, (0, 1))),
    "max": lambda x: (lax.reduce_max(x, (1,)), lax.reduce_min(x, (0,))),
    "prod": lambda x: lax.reduce_prod(x, (1,)),
    "any": lambda x: (lax.reduce_or(x > 0, (1,)), lax.reduce_and(x > -1, (0,))),
    "argmax": lambda x: (lax.argmax(x, 1, "int32"), lax.argmin(x, 0, "int32")),
}


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    agrees(REDUCTIONS[name], X)


def test_running_sums_and_sorting():
    pytest.importorskip("rabbet_algorithms")
    agrees(lambda x: (lax.cumsum(x, 1), lax.cumsum(x, 0, reverse=True), lax.sort(x, 0), lax.top_k(x, 2)), X)


@pytest.mark.parametrize(
    ("x", "y", "numbers"),
    [
        ((3, 4), (4, 5), (((1,), (0,)), ((), ()))),
        ((3, 4), (5, 4), (((1,), (1,)), ((), ()))),
        ((4,), (4,), (((0,), (0,)), ((), ()))),
        ((2, 3, 4), (2, 4, 5), (((2,), (1,)), ((0,), (0,)))),
        ((3, 2, 4), (4, 5, 2), (((2,), (0,)), ((1,), (2,)))),
        ((2, 3, 4), (3, 4, 5, 6), (((1, 2), (0, 1)), ((), ()))),
        ((3,), (4,), (((), ()), ((), ()))),
        ((2, 3), (2, 3), (((), ()), ((0, 1), (0, 1)))),
    ],
)
def test_products(x, y, numbers):
    agrees(lambda x, y: lax.dot_general(x, y, numbers), *[RNG.randn(*s).astype("f4") for s in (x, y)])


@pytest.mark.parametrize(
    "options",
    [
        {"padding": "SAME"},
        {"padding": "VALID", "window_strides": (2, 3)},
        {"padding": ((1, 2), (0, 3)), "rhs_dilation": (2, 1)},
        {"padding": ((2, 1), (1, 1)), "lhs_dilation": (2, 3)},
        {"padding": ((-1, 2), (0, -2))},
    ],
)
def test_convolutions(options):
    pytest.importorskip("rabbet_convolution")
    options = {"window_strides": (1, 1), **options}
    agrees(lambda x, k: lax.conv_general_dilated(x, k, **options), IMAGE, KERNEL, rtol=1e-4, atol=1e-5)


def test_convolutions_in_another_order_and_in_groups():
    pytest.importorskip("rabbet_convolution")
    last = lambda x, k: lax.conv_general_dilated(
        x, k, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=3
    )
    image, kernel = IMAGE.transpose(0, 2, 3, 1).copy(), RNG.randn(3, 3, 1, 6).astype("f4")
    agrees(last, image, kernel, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("operation", ["max", "add"])
def test_pooling(operation):
    pytest.importorskip("rabbet_convolution")
    start = -np.inf if operation == "max" else 0.0
    for options in (
        ((1, 1, 2, 3), (1, 1, 2, 3), "VALID"),
        ((1, 1, 3, 3), (1, 1, 2, 1), "SAME"),
        ((1, 2, 2, 1), (1, 1, 2, 1), ((0, 0), (1, 0), (0, 1), (0, 0))),
    ):
        agrees(lambda x, o=options: lax.reduce_window(x, start, getattr(lax, operation), *o), IMAGE)


# ------------------------------------------------------------------------------------------------- models
def test_a_network_with_attention():
    rnp, nn = pytest.importorskip("rabbet.numpy"), pytest.importorskip("rabbet.nn")
    names = ("query", "key", "value", "out", "up", "down")
    params = {n: rnp.asarray(RNG.randn(8, 8).astype("f4") * 0.3) for n in names}
    table = rnp.asarray(RNG.randn(20, 8).astype("f4"))

    def normalized(x):
        return (x - rnp.mean(x, -1, keepdims=True)) / rnp.sqrt(rnp.var(x, -1, keepdims=True) + 1e-5)

    @rb.jit
    def model(tokens, params):
        x = table[tokens]
        q, k, v = [(x @ params[n]).reshape(2, 5, 2, 4) for n in ("query", "key", "value")]
        scores = rnp.einsum("bqhd,bkhd->bhqk", q, k) / 2.0
        scores = rnp.where(rnp.tril(rnp.ones((5, 5), bool)), scores, -1e30)
        mixed = rnp.einsum("bhqk,bkhd->bqhd", nn.softmax(scores), v).reshape(2, 5, 8)
        x = normalized(x + mixed @ params["out"])
        x = normalized(x + nn.gelu(x @ params["up"]) @ params["down"])
        return {"logits": x @ table.T, "next": rnp.argmax(x @ table.T, -1)}

    tokens = RNG.randint(0, 20, (2, 5)).astype("i4")
    written = agrees(model, tokens, params, rtol=1e-4, atol=1e-5)
    assert [i.name for i in written.graph.input][:2] == ["tokens", "params.down"]
    assert [o.name for o in written.graph.output] == ["out.logits", "out.next"]


def test_a_convolutional_network_and_its_gradient():
    rnp, nn = pytest.importorskip("rabbet.numpy"), pytest.importorskip("rabbet.nn")
    pytest.importorskip("rabbet_convolution")

    def loss(kernel, x):
        x = nn.relu(lax.conv_general_dilated(x, kernel, (1, 1), "SAME"))
        x = lax.reduce_window(x, 0.0, lax.add, (1, 1, 2, 2), (1, 1, 2, 2), "VALID") / 4
        return rnp.mean(nn.silu(x) ** 2)

    agrees(loss, KERNEL, IMAGE)
    agrees(rb.grad(loss), KERNEL, IMAGE, rtol=1e-4, atol=1e-6)
    agrees(rb.vmap(lambda x: nn.log_softmax(x) + nn.elu(x)), X)


def test_weights_lie_within_and_what_is_known_is_computed():
    big = lax.full((50, 4), 2.0)
    model = agrees(lambda x: x * lax.sin(lax.reduce_sum(big, (0,))), X)
    assert len(model.graph.initializer) == 1 and [n.op_type for n in model.graph.node] == ["Mul"]
    constant = rb.onnx.export(lambda x: (lax.full((2,), 3.0), x), X)
    assert run(constant, X)[0].tolist() == [3, 3]


def test_functions_with_rules_of_their_own():
    @rb.custom_vjp
    def f(x):
        return lax.sin(x) * 2

    f.defvjp(lambda x: (f(x), x), lambda x, ct: (ct * 2 * lax.cos(x),))
    agrees(lambda x: f(rb.checkpoint(lax.tanh)(x)), X)
    agrees(rb.grad(lambda x: lax.reduce_sum(f(x), (0, 1))), X)


def test_names():
    model = rb.onnx.export(lambda x, y: (x, y), X, Y, input_names=["left", "right"], output_names=["a", "b"])
    assert [v.name for v in (*model.graph.input, *model.graph.output)] == ["left", "right", "a", "b"]
    model = rb.onnx.export(lambda v1, v3: lax.sin(v1) * v3 + 2, X, Y, output_names=["v2"])
    np.testing.assert_allclose(run(model, X, Y)[0], np.sin(X) * Y + 2, rtol=1e-5)
    with pytest.raises(ValueError, match="input_names has 1 names for 2 leaves"):
        rb.onnx.export(lambda x, y: x, X, Y, input_names=["x"])
    with pytest.raises(ValueError, match="are different, got"):
        rb.onnx.export(lambda x: x, X, output_names=["x"])


def test_what_has_no_form_is_named_with_its_line():
    def looping(x):
        return lax.fori_loop(0, lax.convert_element_type(x[0, 0], "int32"), lambda i, y: y * 2, x)

    with pytest.raises(
        MissingRule, match=rf"'while': it has no form in ONNX(.|\n)*{re.escape('test_onnx.py')}"
    ):
        rb.onnx.export(looping, X)
    with pytest.raises(MissingRule, match="'gather': of slices that are not whole"):
        rb.onnx.export(lambda x, i: rb.vmap(lambda i: lax.dynamic_slice(x, (i, i), (2, 2)))(i), X, INTS[0])
    with pytest.raises(MissingRule, match="real numbers only"):
        rb.onnx.export(lax.exp, X + 0j)


def test_a_primitive_of_your_own():
    from rabbet.extend.primitive import Primitive

    double = Primitive("double_for_onnx", lambda x: x)
    double.rule("lower")(lambda op, x: op.emit("add", [x, x]) if hasattr(op, "emit") else x)

    @rb.onnx.rule(double)
    def double_rule(graph, equation, x):
        return graph.node("Add", x.name, x.name)

    model = rb.onnx.export(lambda x: double(x) + 1, X)
    np.testing.assert_allclose(run(model, X)[0], 2 * X + 1)
    with pytest.raises(ValueError, match="'double_for_onnx' has a rule already"):
        rb.onnx.rule(double)(double_rule)


@pytest.mark.parametrize("name", rb.onnx.__all__)
def test_examples(name):
    rnp = pytest.importorskip("rabbet.numpy")
    test = doctest.DocTestParser().get_doctest(
        getattr(rb.onnx, name).__doc__, {"rb": rb, "rnp": rnp}, name, None, None
    )
    report = []
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert test.examples and report == []
