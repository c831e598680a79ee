"""``rabbet.numpy`` beside ``jax.numpy``: values, shapes, dtypes and weak types of one table of calls.

The table of operands and functions is that of the package's own tests
(``plugins/functions/numpy/tests/cases.py``); here are added the calls that
only these two understand: Python numbers, weak types, ``size=``.
"""

import importlib.util
import pathlib

import numpy as np
import pytest

jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")

import rabbet as rb  # noqa: E402
import rabbet.nn  # noqa: E402
import rabbet.numpy as rnp  # noqa: E402

PLUGINS = pathlib.Path(__file__).resolve().parents[2] / "plugins"
SPEC = importlib.util.spec_from_file_location(
    "numpy_cases", PLUGINS / "functions" / "numpy" / "tests" / "cases.py"
)
cases = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(cases)

F, I, B, V, C = cases.F, cases.I, cases.B, cases.V, cases.C
UNSUPPORTED_THERE = (TypeError, NotImplementedError, AttributeError)


def types(x):
    """Shape, dtype and weakness, which means nothing for booleans and for the NumPy arrays that jax hands
    back as they came.
    """
    return x.shape, np.dtype(x.dtype).name, x.dtype != bool and bool(getattr(x, "weak_type", False))


def agree(found, wanted, rtol=2e-5):
    """The same arrays: types equal, integers bit for bit, floats within rounding."""
    found, wanted = rb.tree.leaves(found), jax.tree.leaves(wanted)
    assert [types(x) for x in found] == [types(x) for x in wanted]
    for x, y in zip(found, wanted, strict=True):
        x, y = np.asarray(x), np.asarray(y)
        if y.dtype.kind in "fcV":
            exact = np.float64 if y.dtype.kind != "c" else np.complex128
            np.testing.assert_allclose(x.astype(exact), y.astype(exact), rtol=rtol, atol=1e-5)
        else:
            np.testing.assert_array_equal(x, y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", cases.CASES)
def test_one_table(name):
    case = cases.CASES[name]
    try:
        wanted = case(jnp)
    except UNSUPPORTED_THERE as error:
        pytest.skip(f"jax.numpy refuses it: {error}")
    agree(case(rnp), wanted)


def weak(fnp, value=1.5):
    """A weakly typed vector."""
    return fnp.broadcast_to(fnp.asarray(value), (3,))


UNARY = (
    "sin exp sqrt abs negative square sign floor trunc rint round reciprocal "
    "positive real imag conj isfinite sum prod mean "
    "var std max min any argmax cumsum sort argsort median ravel flip sinc nan_to_num angle exp2 log2 degrees"
).split()
BINARY = (
    "add subtract multiply true_divide power float_power maximum fmax arctan2 hypot "
    "logaddexp fmod mod floor_divide equal "
    "logical_and dot matmul outer where_like"
).split()
DTYPES = "bool int8 uint8 int16 uint16 int32 uint32 float16 bfloat16 float32 complex64".split()
PROMOTING = ("add", "multiply", "true_divide", "maximum", "where_like")


def apply(fnp, name, *args):
    """``name`` of the module; ``where_like`` selects between the two."""
    if name == "where_like":
        return fnp.where(True, *args)
    return getattr(fnp, name)(*args)


# Ours follow the rule (weak operands, weak result; a NumPy scalar's dtype counts), jax's do not.
BY_THE_RULE = {
    ("rint", 2), ("angle", 2), ("degrees", 1.5), ("degrees", 2), ("power", 2, "int8"), ("dot", 2, "int8"),
}  # fmt: skip


def of_jax(calls, *operands):
    """What jax's functions give, computed as one program: to compile one for each takes minutes.

    Args:
      calls: functions of the operands, by name; those that refuse them are left out.
    """

    def accepts(call):
        try:
            jax.eval_shape(call, *operands)
        except (*UNSUPPORTED_THERE, ValueError):
            return False
        return True

    calls = {name: call for name, call in calls.items() if accepts(call)}
    return jax.jit(lambda *operands: {name: call(*operands) for name, call in calls.items()})(*operands)


def agree_on_each(calls, wanted, *operands, **near):
    """``agree`` for each of our ``calls``, run one by one; what jax refuses is refused."""
    differ = []
    for name, call in calls.items():
        try:
            if name in wanted:
                agree(call(*operands), wanted[name], **near)
            else:
                with pytest.raises((TypeError, ValueError)):
                    call(*operands)
        except BaseException as error:  # also pytest's own of `raises`
            differ.append(f"{name}: {type(error).__name__}: {error}")
    assert not differ, "\n".join(differ)


@pytest.mark.parametrize("value", [1.5, 2], ids=["float", "int"])
def test_weak_types_of_one_operand(value):
    def calls(fnp):
        names = [name for name in UNARY if (name, value) not in BY_THE_RULE]
        return {name: lambda x, name=name: apply(fnp, name, x) for name in names}

    agree_on_each(calls(rnp), of_jax(calls(jnp), weak(jnp, value)), weak(rnp, value))


@pytest.mark.parametrize("value", [1.5, 2], ids=["float", "int"])
@pytest.mark.parametrize("other", [2, 0.5, np.float32(2), np.int8(2)], ids=repr)
def test_weak_types_of_two_operands(other, value):
    def calls(fnp):
        names = [name for name in BINARY if name != "matmul"]
        kept = [n for n in names if (n, value, str(getattr(other, "dtype", ""))) not in BY_THE_RULE]
        return {name: lambda x, name=name: apply(fnp, name, x, other) for name in kept}

    agree_on_each(calls(rnp), of_jax(calls(jnp), weak(jnp, value)), weak(rnp, value))


@pytest.mark.parametrize("x", DTYPES)
def test_promotion_of_arrays(x):
    def results(framework, fnp):
        first, *others = [fnp.ones(2, getattr(fnp, d) if d != "bool" else bool) for d in (x, *DTYPES)]
        return framework.jit(
            lambda x, *ys: {name: [apply(fnp, name, x, y) for y in ys] for name in PROMOTING}
        )(first, *others)

    agree(results(rb, rnp), results(jax, jnp))


@pytest.mark.parametrize("dtype", DTYPES[:-1])
def test_dtypes_of_one_operand(dtype):
    def calls(fnp):
        names = "sin exp sum prod mean var max cumsum sqrt abs floor argmax sort any square".split()
        each = {name: getattr(fnp, name) for name in names}
        return {**each, "dot_self": lambda x: fnp.dot(x, x)}

    near = {"rtol": 1e-2} if "16" in dtype else {}
    wanted = of_jax(calls(jnp), jnp.asarray([0, 1, 1], dtype))
    agree_on_each(calls(rnp), wanted, rnp.asarray([0, 1, 1], dtype), **near)


SPECIAL = {
    "numbers": lambda m: [
        m.add(1, 2),
        m.add(1, 2.0),
        m.sin(1),
        m.negative(3),
        m.maximum(1, 2.5),
        m.add(True, True),
    ],
    "asarray": lambda m: [
        m.asarray(v) for v in (1, 1.5, True, 2j, np.float64(1), np.int64(3), [1, 2.0], [1, True], [[1], [2]])
    ],
    "asarray dtype": lambda m: [m.asarray(3, d) for d in ("int8", "float16", "bool", "complex64")],
    "array of weak": lambda m: [
        m.array(weak(m)),
        m.array([m.asarray(1), m.asarray(2.0)]),
        m.array([1, m.asarray(2)]),
    ],
    "scalar types": lambda m: [m.float32(1), m.int8(3), m.bool_(2), m.bfloat16(1.5), m.uint32(7)],
    "full": lambda m: [m.full(3, 1.5), m.full(2, 1), m.full((), True), m.full((2, 2), V[:2])],
    "like": lambda m: [
        m.zeros_like(weak(m)),
        m.ones_like(I),
        m.full_like(weak(m), 2),
        m.full_like(F, 2, "int8"),
    ],
    "ranges": lambda m: [
        m.arange(3),
        m.arange(3.0),
        m.arange(1, 7, 2),
        m.linspace(0, 1, 5),
        m.eye(2),
        m.tri(2),
    ],
    "where": lambda m: [m.where(B, 1.0, 0), m.where(B, F, 0), m.where(B, I, 1.5), m.where(True, 1, 2)],
    "clip": lambda m: [
        m.clip(I, 0, 3),
        m.clip(I, 0.5, 2),
        m.clip(F, None, 0),
        m.clip(F, min=0),
        m.clip(weak(m), 0, 1),
    ],
    "shapes of weak": lambda m: [
        m.reshape(weak(m), (3, 1)),
        m.concatenate([weak(m), weak(m)]),
        m.stack([weak(m), V[:3]]),
        m.pad(weak(m), 1),
        m.repeat(weak(m), 2),
        m.tile(weak(m), 2),
        m.roll(weak(m), 1),
        m.take(weak(m), 0),
        m.diag(weak(m)),
        m.tril(m.ones((2, 2))),
    ],
    "products of weak": lambda m: [
        m.dot(weak(m), weak(m)),
        m.einsum("i,i", weak(m), weak(m)),
        m.tensordot(weak(m), V[:3], 1),
    ],
    "nonzero of a size": lambda m: m.nonzero(B, size=8, fill_value=-1),
    "nonzero cut": lambda m: m.nonzero(B, size=2),
    "unique of a size": lambda m: m.unique(cases.TIES, True, True, True, size=6, fill_value=9),
    "unique cut": lambda m: m.unique(cases.TIES, size=2),
    "where of a size": lambda m: m.where(B, size=3),
    "bincount of a length": lambda m: m.bincount(cases.TIES, length=3),
    "repeat of a length": lambda m: m.repeat(V, np.array([1, 0, 2, 1]), total_repeat_length=6),
    "take outside": lambda m: [
        m.take(V, np.array([9, -9])),
        m.take(I, np.array([99])),
        m.take(V, 9, mode="clip"),
    ],
    "argsort descending": lambda m: [m.argsort(cases.TIES, descending=True), m.sort(F, descending=True)],
    "powers": lambda m: [
        m.power(I, 2),
        m.power(F, 3),
        m.power(cases.U, 0.5),
        m.power(I, np.int32(2)),
        m.power(2, cases.J),
    ],
    "sum options": lambda m: [
        m.sum(F, dtype="bfloat16"),
        m.sum(cases.K8, promote_integers=False),
        m.mean(I, dtype="float16"),
        m.sum(B, dtype="int8"),
    ],
    "roll by array": lambda m: m.roll(F, m.asarray(2), axis=1),
    "dtype questions": lambda m: np.array(
        [
            m.issubdtype(m.float32, m.floating),
            m.issubdtype("int8", m.integer),
            m.can_cast("int8", "int16"),
            m.isdtype("float32", "real floating"),
            m.result_type(F, 1j) == "complex64",
            m.promote_types("int8", "uint8") == "int16",
        ]
    ),
    "limits": lambda m: np.array(
        [float(m.finfo(m.bfloat16).eps), float(m.iinfo("int16").max), float(m.finfo("float32").max)]
    ),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_what_only_the_field_has(name):
    agree(SPECIAL[name](rnp), SPECIAL[name](jnp))


ACTIVATIONS = (
    "relu relu6 sigmoid softplus silu swish gelu tanh elu selu celu leaky_relu "
    "log_sigmoid soft_sign hard_tanh hard_sigmoid "
    "hard_silu hard_swish mish glu softmax log_softmax logsumexp standardize "
    "squareplus identity sparse_plus sparse_sigmoid"
).split()
POINTS = np.array([-30.0, -4.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 6.0, 40.0], "f4")


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_and_their_derivatives(name):
    mine, theirs = getattr(rb.nn, name), getattr(jax.nn, name)
    agree(mine(POINTS), theirs(POINTS))
    agree(
        rb.grad(lambda x: rnp.sum(mine(x) * 1.5))(POINTS),
        jax.grad(lambda x: jnp.sum(theirs(x) * 1.5))(POINTS),
    )
    if name not in ("softmax", "log_softmax", "logsumexp", "standardize", "glu"):
        assert mine(weak(rnp)).weak_type
        refused = ("sigmoid", "silu", "swish")  # of integers, by JAX
        assert mine(2).dtype == (rnp.result_type(float) if name in refused else theirs(2).dtype)


NN = {
    "one_hot": lambda nn: [nn.one_hot(np.array([0, 2, 5]), 3), nn.one_hot(cases.J, 4, axis=0, dtype="int8")],
    "gelu exact": lambda nn: nn.gelu(POINTS, approximate=False),
    "masked": lambda nn: [nn.softmax(F, where=B), nn.softmax(F, axis=(0, 1)), nn.logsumexp(F, where=B)],
    "logsumexp": lambda nn: [
        nn.logsumexp(F, axis=0, keepdims=True),
        nn.logsumexp(np.array([-np.inf, -np.inf], "f4")),
        nn.logsumexp(F, b=cases.G, return_sign=True),
        nn.logsumexp(np.array([1000.0, 1000.0], "f4")),
    ],
    "attention": lambda nn: [
        nn.dot_product_attention(*[cases.random_attention(h) for h in (4, 2, 2)], is_causal=True),
        nn.dot_product_attention(*[cases.random_attention(2)] * 3, local_window_size=(1, 0), scale=0.5),
        nn.dot_product_attention(*[cases.random_attention(2)] * 3, key_value_seq_lengths=np.array([2, 4])),
    ],
    "standardize": lambda nn: nn.standardize(F, axis=0, epsilon=0.1),
    "elu": lambda nn: [
        nn.elu(POINTS, 0.5),
        nn.celu(POINTS, 2.0),
        nn.leaky_relu(POINTS, 0.2),
        nn.squareplus(POINTS, 1.0),
    ],
    "log1mexp": lambda nn: nn.log1mexp(np.array([0.1, 1.0, 10.0], "f4")),
    "logmeanexp": lambda nn: nn.logmeanexp(F, axis=1),
}


@pytest.mark.parametrize("name", NN)
def test_functions_of_networks(name):
    agree(NN[name](rb.nn), NN[name](jax.nn))
