"""What users of JAX do without thinking: sequences, objects that give arrays, pickles, names, stages."""

import copy
import functools
import inspect
import pickle

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

X = np.float32([0, 1, 2])


class Gives:
    """An object that gives an array, as models' parameters do."""

    def __init__(self, value):
        self.value = value

    def __jax_array__(self):
        return rnp.asarray(self.value)


TAKEN = {
    "operator": lambda g: rnp.asarray(X) + g,
    "function": lambda g: rnp.add(g, 1.0),
    "reduction": lambda g: rnp.sum(g),
    "index": lambda g: rnp.arange(5.0)[Gives(np.int32([0, 1]))],
    "update": lambda g: rnp.zeros(3).at[:].set(g),
    "primitive": lambda g: lax.sin(g),
    "jit": lambda g: rb.jit(lambda x: x * 2)(g),
    "grad": lambda g: rb.grad(lambda x: rnp.sum(x * x))(g),
    "vmap": lambda g: rb.vmap(lambda x: x + 1)(g),
    "scan": lambda g: lax.scan(lambda c, x: (c + x, x), 0.0, g)[1],
    "cond": lambda g: lax.cond(Gives(np.array(True)), lambda x: x, lambda x: -x, g),
    "switch": lambda g: lax.switch(Gives(np.int32(1)), [lambda: 1.0, lambda: 2.0]),
    "einsum": lambda g: rnp.einsum("i,i", g, g),
    "choice": lambda g: rb.random.choice(rb.random.key(0), g),
    "callback": lambda g: rb.pure_callback(np.sin, rb.ShapeDtypeStruct((3,), np.float32), g),
}


@pytest.mark.parametrize("which", TAKEN)
def test_objects_that_give_arrays(which):
    given, plain = TAKEN[which](Gives(X)), TAKEN[which](rnp.asarray(X))
    np.testing.assert_array_equal(np.asarray(given), np.asarray(plain))


def test_sequences_with_traced_scalars():
    two = rnp.arange(6.0).reshape(2, 3)
    index = rb.jit(lambda i: (X_[(0, i, 0),], two[..., (i, 1)], rnp.array([i, 1.0])))
    assert [x.tolist() for x in index(1)] == [[0, 1, 0], [[1, 1], [4, 4]], [1, 1]]
    assert rb.jit(lambda k: rnp.roll(X_, [k], 0))(1).tolist() == [2, 0, 1]
    assert lax.fori_loop(0, 3, lambda k, x: rnp.roll(x, [k], 0), X_).tolist() == X.tolist()
    assert lax.dynamic_slice(X_, [np.int32(1)], (2,)).tolist() == [1, 2]


X_ = rnp.asarray(X)


# Transformed functions under the names of the functions themselves, as decorators make them.
@rb.jit
def jitted(x):
    return x * x + 1


@rb.grad
def gradient(x):
    return x * x


@rb.vmap
def mapped(x):
    return x * x


@functools.partial(rb.jit, static_argnames="n")
def with_static(x, n=2):
    return x * n


@rb.checkpoint
def kept(x):
    return rnp.sin(x)


DECORATED = [jitted, gradient, mapped, with_static, kept]


@pytest.mark.parametrize("function", DECORATED, ids=lambda f: f.__name__)
def test_pickles_and_copies(function):
    x = X_ if function is mapped else 3.0
    wanted = np.asarray(function(x))
    for again in (pickle.loads(pickle.dumps(function)), copy.copy(function), copy.deepcopy(function)):
        np.testing.assert_array_equal(np.asarray(again(x)), wanted)
    cloudpickle = pytest.importorskip("cloudpickle")
    by_value = cloudpickle.loads(cloudpickle.dumps(rb.jit(lambda x: function(x))))
    np.testing.assert_array_equal(np.asarray(by_value(x)), wanted)


@pytest.mark.parametrize(
    "value",
    [
        rb.ShapeDtypeStruct((2,), "float32"), rb.tree.structure({"a": 1, "b": (2, None)}), rb.typeof(X_),
        jitted.lower(1.0), jitted.trace(1.0), rb.make_jaxpr(jitted)(1.0), rb.random.key(0), rb.devices()[0],
        X_.sharding, rb.linearize(jitted, 2.0)[1], rb.vjp(jitted, 2.0)[1],
    ],
    ids=lambda v: type(v).__name__,
)  # fmt: skip
def test_values_pickle(value):
    assert type(pickle.loads(pickle.dumps(value))) is type(value)
    assert type(copy.deepcopy(value)) is type(value)


def test_every_function_knows_its_name():
    assert (rnp.absolute.__name__, rnp.abs.__name__) == ("absolute", "abs")
    for thing in (lax.sin, lax.add, rnp.sum, rb.jit, rnp.add, type(X_).sum, X_.sum, lax.scan):
        assert thing.__name__ == thing.__qualname__.rpartition(".")[2] and thing.__doc__
    assert lax.sin.__name__ == "sin" and type(X_).sum(X_) == 3.0
    assert functools.wraps(lax.sin)(lambda x: x).__name__ == "sin"
    assert list(inspect.signature(rb.jit(lambda a, b=1: a)).parameters) == ["a", "b"]
    assert rb.grad(jitted).__doc__.startswith("The gradient of jitted")
    assert rb.vmap(test_every_function_knows_its_name).__doc__.startswith(
        "test_every_function_knows_its_name mapped"
    )


def test_linear_functions_are_trees_of_arrays():
    transpose = rb.jit(lambda y: rb.linear_transpose(lambda x: x * y, X_))(X_)
    assert transpose(X_)[0].tolist() == [0, 1, 4] and len(rb.tree.leaves(transpose)) == 1
    other = rb.tree.map(lambda v: v * 10, transpose)
    assert other(X_)[0].tolist() == [0, 10, 40]
    push = rb.jit(lambda x: rb.linearize(rnp.sin, x)[1])(X_)
    np.testing.assert_allclose(push(rnp.ones(3)), np.cos(X), rtol=1e-6)
    while_push = rb.jit(
        lambda x: rb.linearize(lambda x: lax.while_loop(lambda c: c < 9, lambda c: c * x, x), x)[1]
    )(2.0)
    assert float(while_push(1.0)) == 4 * 2.0**3


class Duck:
    shape = [2]
    dtype = "float32"


def test_ducks_have_a_shape_and_a_dtype():
    assert rb.eval_shape(jitted, Duck()).shape == (2,)
    assert jitted.trace(Duck()).out_info.dtype == np.float32
    assert rb.linear_transpose(lambda x: 2 * x, Duck())(rnp.ones(2))[0].tolist() == [2, 2]
    assert rb.ShapeDtypeStruct((2,), "float32").update(shape=(3,)).shape == (3,)


def test_arrays_tracers_and_types_share_attributes():
    seen = []
    rb.jit(lambda x: [seen.append((x.itemsize, x.nbytes, x.ndim, x.size)), x][1])(X_)
    for thing in (X_, rb.typeof(X_), rb.ShapeDtypeStruct((3,), "float32")):
        seen.append((thing.itemsize, thing.nbytes, thing.ndim, thing.size))
    assert set(seen) == {(4, 12, 1, 3)}
    with pytest.raises(rb.errors.ConcretizationTypeError, match=r"tobytes\(\) needs the value"):
        rb.jit(lambda x: x.tobytes())(X_)
    assert 1.0 in X_ and round(rnp.float32(2.6)).dtype == np.int32 and round(rnp.float32(2.66), 1) > 2.6


def test_windows_start_with_any_number():
    x = rnp.arange(6)
    assert lax.reduce_window(x, 0.0, lax.add, (2,), (2,), "VALID").tolist() == [1, 5, 9]
    assert lax.reduce_window(x, -np.inf, lax.max, (2,), (2,), "VALID").tolist() == [1, 3, 5]
    with pytest.raises(TypeError, match="initial value"):
        lax.reduce_window(x, 0.5, lax.add, (2,), (2,), "VALID")


@rb.custom_vjp
def flagged(x):
    return x * 2


@pytest.mark.parametrize("within", ["grad", "jit", "scan", "checkpoint", "vmap", "cond"])
def test_residuals_that_are_python_bools_stay_bools(within):
    kinds = []

    def forward(x):
        return x * 2, (True, None, x)

    def backward(kept, g):
        kinds.append(type(kept[0]))
        return (g * 3 if kept[0] else g,)

    flagged.defvjp(forward, backward)
    program = {
        "grad": flagged,
        "jit": rb.jit(flagged),
        "scan": lambda x: lax.scan(lambda c, _: (flagged(c), None), x, length=1)[0],
        "checkpoint": rb.checkpoint(flagged),
        "vmap": lambda x: rnp.sum(rb.vmap(flagged)(x[None])),
        "cond": lambda x: lax.cond(x > 0, flagged, lambda x: x, x),
    }[within]
    assert float(rb.grad(program)(rnp.float32(1))) == 3 and kinds == [bool]


def test_stages_say_what_they_take_and_give():
    lowered = rb.jit(lambda a, b: {"sum": a + b}, donate_argnums=0).lower(X_, 1.0)
    assert lowered.out_avals["sum"].shape == (3,) and lowered.donate_argnums == (0,)
    assert "HloModule" in lowered.compiler_ir("hlo").as_hlo_text() and "HloModule" in lowered.as_text("hlo")
    compiled = lowered.compile()
    assert compiled.input_shardings[0][0] == X_.sharding == compiled.output_shardings["sum"]
