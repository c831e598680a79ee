"""Cases written for Equinox, whose source distribution has no tests: its documented functions."""

# ruff: noqa: B017, E501, RUF059
import functools
import io

import equinox as eqx
import equinox.internal as eqxi
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

KEY = jr.PRNGKey(0)


class Affine(eqx.Module):
    weight: jax.Array
    name: str = eqx.field(static=True)
    act: object = jnp.tanh

    def __call__(self, x):
        return self.act(self.weight @ x)


def affine():
    return Affine(jnp.arange(6.0).reshape(2, 3) / 10, "a")


# Filtered transformations ----------------------------------------------------------------------------------
def test_filter_jit_takes_anything():
    traces = []

    @eqx.filter_jit
    def f(model, x, flag, text):
        traces.append(flag)
        return model(x) * (2 if flag else 1), text

    out, text = f(affine(), jnp.ones(3), True, "t")
    np.testing.assert_allclose(out, 2 * np.tanh([0.3, 1.2]), rtol=1e-5)
    f(affine(), jnp.zeros(3), True, "t")
    assert text == "t" and traces == [True]
    f(affine(), jnp.zeros(3), False, "t")
    assert traces == [True, False]


def test_filter_jit_methods_and_donation():
    class M(eqx.Module):
        w: jax.Array

        @eqx.filter_jit
        def __call__(self, x):
            return self.w * x

    assert float(M(jnp.array(2.0))(3.0)) == 6
    double = eqx.filter_jit(lambda x: x * 2, donate="all")
    assert float(double(jnp.array(2.0))) == 4


def test_filter_grad_and_value():
    loss = lambda m, x: jnp.sum(m(x) ** 2)
    grads = eqx.filter_grad(loss)(affine(), jnp.ones(3))
    assert grads.weight.shape == (2, 3) and grads.name == "a" and grads.act is None
    value, again = eqx.filter_value_and_grad(loss)(affine(), jnp.ones(3))
    np.testing.assert_allclose(again.weight, grads.weight)
    (value, aux), _ = eqx.filter_value_and_grad(lambda m: (m.weight.sum(), "aux"), has_aux=True)(affine())
    assert aux == "aux" and float(value) == 1.5


def test_filter_grad_of_jit_and_of_jit_of_grad():
    loss = eqx.filter_jit(lambda m: jnp.sum(m.weight**2))
    np.testing.assert_allclose(eqx.filter_grad(loss)(affine()).weight, 2 * affine().weight)
    np.testing.assert_allclose(eqx.filter_jit(eqx.filter_grad(loss))(affine()).weight, 2 * affine().weight)


def test_filter_vmap_ensembles():
    make = eqx.filter_vmap(lambda key: eqx.nn.Linear(3, 2, key=key))
    ensemble = make(jr.split(KEY, 4))
    assert ensemble.weight.shape == (4, 2, 3)
    out = eqx.filter_vmap(lambda m, x: m(x), in_axes=(eqx.if_array(0), None))(ensemble, jnp.ones(3))
    assert out.shape == (4, 2)
    outs = eqx.filter_vmap(lambda x, y: (x + y, x), in_axes=(0, None), out_axes=(1, 0))(jnp.ones((3, 2)), 1.0)
    assert outs[0].shape == (2, 3) and outs[1].shape == (3, 2)
    sized = eqx.filter_vmap(lambda: jnp.zeros(2), axis_size=3)
    assert sized().shape == (3, 2)


def test_filter_jvp_and_vjp():
    out, tangent = eqx.filter_jvp(lambda x, y: x * y, (jnp.array(2.0), 3.0), (jnp.array(1.0), None))
    assert (float(out), float(tangent)) == (6, 3)
    out, pull = eqx.filter_vjp(lambda m: m(jnp.ones(3)), affine())
    (ct,) = pull(jnp.ones(2))
    assert ct.weight.shape == (2, 3)
    out, pull, aux = eqx.filter_vjp(lambda x: (x**2, "aux"), jnp.array(3.0), has_aux=True)
    assert aux == "aux" and float(pull(jnp.array(1.0))[0]) == 6


def test_filter_hessian_jacobians():
    np.testing.assert_allclose(eqx.filter_hessian(lambda x: jnp.sum(x**3))(jnp.arange(2.0)), [[0, 0], [0, 6]])
    np.testing.assert_allclose(eqx.filter_jacfwd(lambda x: x**2)(jnp.arange(2.0)), [[0, 0], [0, 2]])
    np.testing.assert_allclose(eqx.filter_jacrev(lambda x: x**2)(jnp.arange(2.0)), [[0, 0], [0, 2]])


def test_filter_custom_vjp():
    @eqx.filter_custom_vjp
    def f(x, scale):
        return x * scale

    @f.def_fwd
    def fwd(perturbed, x, scale):
        return x * scale, None

    @f.def_bwd
    def bwd(residuals, ct, perturbed, x, scale):
        return 100 * ct

    x = jnp.array(3.0)
    assert float(eqx.filter_grad(lambda x: f(x, 2.0))(x)) == 100
    assert float(eqx.filter_jit(eqx.filter_grad(lambda x: f(x, 2.0)))(x)) == 100


def test_filter_custom_jvp():
    @eqx.filter_custom_jvp
    def f(x, *, y):
        return x * y

    @f.def_jvp
    def jvp(primals, tangents, *, y):
        (x,), (t,) = primals, tangents
        return x * y, 100 * t

    assert float(jax.grad(lambda x: f(x, y=2.0))(3.0)) == 100


def test_filter_checkpoint_eval_shape_make_jaxpr():
    f = eqx.filter_checkpoint(lambda m, x: jnp.sum(m(x)))
    assert eqx.filter_grad(f)(affine(), jnp.ones(3)).weight.shape == (2, 3)
    shape = eqx.filter_eval_shape(lambda m, text: (m(jnp.ones(3)), text), affine(), "t")
    assert shape[0].shape == (2,) and shape[1] == "t"
    closed, out_struct, static = eqx.filter_make_jaxpr(lambda m: m(jnp.ones(3)))(affine())
    assert closed.jaxpr.eqns and out_struct.shape == (2,)


def test_filter_closure_convert():
    y = jnp.array(3.0)
    x = jnp.array(2.0)
    f = eqx.filter_closure_convert(lambda x: x * y, x)
    assert float(f(x)) == 6
    assert float(eqx.filter_jit(f)(x)) == 6
    assert float(jax.grad(lambda y: eqx.filter_closure_convert(lambda x: x * y, x)(x))(1.0)) == 2


def test_filter_pure_callback():
    def host(x, text):
        return np.asarray(x) * len(text)

    f = lambda x: eqx.filter_pure_callback(host, x, "abc", result_shape_dtypes=x)
    assert float(jax.jit(f)(jnp.array(2.0))) == 6


def test_closures_are_differentiated():
    grads = eqx.filter_grad(lambda args: args[0](args[1]))((jax.tree_util.Partial(jnp.sin), jnp.array(0.5)))
    np.testing.assert_allclose(grads[1], np.cos(0.5), rtol=1e-6)


# Trees ------------------------------------------------------------------------------------------------------
def test_partition_and_combine():
    dynamic, static = eqx.partition(affine(), eqx.is_inexact_array)
    assert static.weight is None and dynamic.act is None
    assert eqx.tree_equal(eqx.combine(dynamic, static), affine())
    assert eqx.is_array(jnp.ones(1)) and not eqx.is_array(1.0) and eqx.is_array_like(1.0)
    assert eqx.is_inexact_array_like(1.0) and not eqx.is_inexact_array_like(1)
    assert eqx.filter([1, jnp.ones(2), "a"], eqx.is_array, replace=0)[0] == 0


def test_tree_at():
    model = eqx.tree_at(lambda m: m.weight, affine(), jnp.zeros((2, 3)))
    assert float(model.weight.sum()) == 0
    model = eqx.tree_at(lambda m: m.weight, affine(), replace_fn=lambda w: w + 1)
    assert float(model.weight[0, 0]) == 1
    assert eqx.tree_at(lambda t: t[1], (1, None), 2, is_leaf=lambda x: x is None) == (1, 2)
    with pytest.raises(TypeError):
        eqx.tree_at(lambda m: m.weight + 1, affine(), 0)


def test_tree_equal_and_check():
    assert eqx.tree_equal((1, jnp.ones(2)), (1, jnp.ones(2)))
    assert not eqx.tree_equal((1, jnp.ones(2)), (1, jnp.zeros(2)))
    assert bool(jax.jit(lambda x, y: eqx.tree_equal(x, y))(jnp.ones(2), jnp.ones(2)))
    eqx.tree_check(affine())
    shared = [1]
    with pytest.raises(ValueError):
        eqx.tree_check([shared, shared])


def test_tree_inference_and_pformat():
    net = eqx.nn.Sequential([eqx.nn.Linear(2, 2, key=KEY), eqx.nn.Dropout(0.5)])
    assert eqx.nn.inference_mode(net)[1].inference
    text = eqx.tree_pformat(affine())
    assert "f32[2,3]" in text and "Affine" in text
    assert "weight=f32[2,3]" in repr(affine())


def test_serialisation():
    file = io.BytesIO()
    eqx.tree_serialise_leaves(file, (affine(), 1, 2.0, True, np.ones(2)))
    file.seek(0)
    like = (eqx.tree_at(lambda m: m.weight, affine(), jnp.zeros((2, 3))), 0, 0.0, False, np.zeros(2))
    found = eqx.tree_deserialise_leaves(file, like)
    np.testing.assert_allclose(found[0].weight, affine().weight)
    assert found[1:4] == (1, 2.0, True)


def test_apply_updates():
    model = eqx.apply_updates(affine(), eqx.tree_at(lambda m: m.act, affine(), None))
    np.testing.assert_allclose(model.weight, 2 * affine().weight)


def test_modules():
    class Base(eqx.Module, strict=True):
        x: eqx.AbstractVar[int]

        def twice(self):
            return 2 * self.x

    class Derived(Base, strict=True):
        x: int
        y: jax.Array = eqx.field(converter=jnp.asarray)

        def __check_init__(self):
            if self.x < 0:
                raise ValueError("negative")

    made = Derived(3, 1.0)
    assert made.twice() == 6 and made.y.dtype == jnp.float32
    with pytest.raises(ValueError):
        Derived(-1, 1.0)
    with pytest.raises(AttributeError):
        made.x = 4
    with pytest.raises(TypeError):
        Base()
    bound = jax.tree_util.tree_leaves(made.twice)
    assert len(bound) == 2
    assert hash(Affine(1, "a")) == hash(Affine(1, "a")) and Affine(1, "a") == Affine(1, "a")


def test_enumerations():
    class Result(eqx.Enumeration):
        good = "all is well"
        bad = "something failed"

    value = jax.jit(lambda x: Result.where(x > 0, Result.good, Result.bad))(1.0)
    assert value == Result.good and Result[value] == "all is well"

    class More(Result):
        other = "something else"

    assert More.promote(value) == More.good and len(More) == 3


# Runtime errors and debugging ---------------------------------------------------------------------------------
def test_error_if():
    @eqx.filter_jit
    def f(x):
        x = eqx.error_if(x, x < 0, "x must be >= 0")
        return x + 1

    assert float(f(jnp.array(1.0))) == 2
    with pytest.raises(Exception, match="x must be >= 0"):
        jax.block_until_ready(f(jnp.array(-1.0)))
    with pytest.raises(Exception, match="x must be >= 0"):
        eqx.error_if(jnp.array(-1.0), True, "x must be >= 0")


def test_error_if_under_vmap_and_grad():
    f = lambda x: eqx.error_if(x, x < 0, "negative") ** 2
    np.testing.assert_allclose(jax.vmap(jax.grad(f))(jnp.arange(3.0)), [0, 2, 4])
    with pytest.raises(Exception, match="negative"):
        jax.block_until_ready(eqx.filter_jit(jax.vmap(f))(jnp.array([1.0, -1.0])))


def test_branched_error_if():
    f = eqx.filter_jit(lambda x, i: eqx.branched_error_if(x, x < 0, i, ["first", "second"]))
    assert float(f(jnp.array(1.0), 0)) == 1
    with pytest.raises(Exception, match="second"):
        jax.block_until_ready(f(jnp.array(-1.0), 1))


def test_debugging_tools(capfd):
    x = eqx.debug.backward_nan(jnp.array(1.0))
    assert float(x) == 1
    y = jax.jit(lambda x: eqx.debug.store_dce(x, name="here") + 0)(jnp.array(1.0))
    assert float(y) == 1
    f = eqx.debug.assert_max_traces(lambda x: x + 1, max_traces=1)
    g = eqx.filter_jit(f)
    g(jnp.array(1.0))
    g(jnp.array(2.0))
    assert eqx.debug.get_num_traces(f) == 1
    with pytest.raises(RuntimeError):
        g(jnp.array(1))


# Layers -----------------------------------------------------------------------------------------------------
LAYERS = {
    "linear": (lambda k: eqx.nn.Linear(3, 2, key=k), (3,), (2,)),
    "scalar": (lambda k: eqx.nn.Linear("scalar", "scalar", key=k), (), ()),
    "no bias": (lambda k: eqx.nn.Linear(3, 2, use_bias=False, key=k), (3,), (2,)),
    "mlp": (lambda k: eqx.nn.MLP(3, 2, 8, 2, key=k), (3,), (2,)),
    "mlp activation": (lambda k: eqx.nn.MLP(3, "scalar", 8, 1, jnp.sin, jnp.tanh, key=k), (3,), ()),
    "identity": (lambda k: eqx.nn.Identity(), (3,), (3,)),
    "conv1d": (lambda k: eqx.nn.Conv1d(3, 2, 3, key=k), (3, 8), (2, 6)),
    "conv2d": (lambda k: eqx.nn.Conv2d(4, 2, 3, stride=2, padding=1, groups=2, key=k), (4, 8, 8), (2, 4, 4)),
    "conv2d same": (lambda k: eqx.nn.Conv2d(4, 2, 3, padding="SAME", dilation=2, key=k), (4, 8, 8), (2, 8, 8)),
    "conv2d circular": (lambda k: eqx.nn.Conv2d(1, 2, 3, padding="SAME", padding_mode="CIRCULAR", key=k), (1, 5, 5), (2, 5, 5)),
    "conv3d": (lambda k: eqx.nn.Conv3d(1, 2, 2, key=k), (1, 3, 3, 3), (2, 2, 2, 2)),
    "transposed 1d": (lambda k: eqx.nn.ConvTranspose1d(3, 2, 3, stride=2, key=k), (3, 8), (2, 17)),
    "transposed 2d": (lambda k: eqx.nn.ConvTranspose2d(3, 2, 3, stride=2, output_padding=1, padding=1, key=k), (3, 4, 4), (2, 8, 8)),
    "layer norm": (lambda k: eqx.nn.LayerNorm((3, 4)), (3, 4), (3, 4)),
    "rms norm": (lambda k: eqx.nn.RMSNorm(4), (4,), (4,)),
    "group norm": (lambda k: eqx.nn.GroupNorm(2, 4), (4, 5, 5), (4, 5, 5)),
    "max pool": (lambda k: eqx.nn.MaxPool2d(2, 2), (3, 6, 6), (3, 3, 3)),
    "max pool ceil": (lambda k: eqx.nn.MaxPool1d(2, 2, use_ceil=True), (3, 7), (3, 4)),
    "avg pool": (lambda k: eqx.nn.AvgPool2d(2, 1, padding=1), (3, 6, 6), (3, 7, 7)),
    "adaptive": (lambda k: eqx.nn.AdaptiveAvgPool2d((2, 3)), (3, 6, 7), (3, 2, 3)),
    "adaptive max": (lambda k: eqx.nn.AdaptiveMaxPool1d(2), (3, 7), (3, 2)),
    "prelu": (lambda k: eqx.nn.PReLU(0.25), (3,), (3,)),
    "lambda": (lambda k: eqx.nn.Lambda(jnp.abs), (3,), (3,)),
    "weight norm": (lambda k: eqx.nn.WeightNorm(eqx.nn.Linear(3, 2, key=k)), (3,), (2,)),
    "sequential": (lambda k: eqx.nn.Sequential([eqx.nn.Linear(3, 2, key=k), eqx.nn.Lambda(jax.nn.relu)]), (3,), (2,)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    make, shape, wanted = LAYERS[name]
    layer = make(KEY)
    x = jr.normal(jr.PRNGKey(1), shape)
    out = layer(x)
    assert out.shape == wanted and bool(jnp.all(jnp.isfinite(out)))
    grads = eqx.filter_jit(eqx.filter_grad(lambda both: jnp.sum(both[0](both[1]) ** 2)))((layer, x))
    assert grads[1].shape == shape
    np.testing.assert_allclose(eqx.filter_jit(layer)(x), out, rtol=1e-4, atol=1e-5)


def test_recurrent_cells():
    gru, lstm = eqx.nn.GRUCell(3, 4, key=KEY), eqx.nn.LSTMCell(3, 4, key=KEY)
    h, _ = jax.lax.scan(lambda h, x: (gru(x, h), None), jnp.zeros(4), jnp.ones((5, 3)))
    assert h.shape == (4,)
    (h, c), _ = jax.lax.scan(lambda s, x: (lstm(x, s), None), (jnp.zeros(4), jnp.zeros(4)), jnp.ones((5, 3)))
    assert h.shape == c.shape == (4,)


def test_embeddings_and_attention():
    embedding = eqx.nn.Embedding(10, 4, key=KEY)
    assert embedding(3).shape == (4,)
    rope = eqx.nn.RotaryPositionalEmbedding(4)
    assert rope(jnp.ones((6, 4))).shape == (6, 4)
    attention = eqx.nn.MultiheadAttention(2, 4, use_query_bias=True, key=KEY)
    out = attention(jnp.ones((5, 4)), jnp.ones((6, 4)), jnp.ones((6, 4)), mask=jnp.ones((5, 6), bool))
    assert out.shape == (5, 4)
    dropped = eqx.nn.MultiheadAttention(2, 4, dropout_p=0.5, key=KEY)
    assert dropped(jnp.ones((5, 4)), jnp.ones((5, 4)), jnp.ones((5, 4)), key=KEY).shape == (5, 4)


def test_dropout():
    dropout = eqx.nn.Dropout(0.5)
    out = dropout(jnp.ones(1000), key=KEY)
    assert set(np.unique(out)) == {0.0, 2.0}
    np.testing.assert_array_equal(dropout(jnp.ones(3), inference=True), np.ones(3))
    with pytest.raises(RuntimeError):
        dropout(jnp.ones(3))


@pytest.mark.parametrize("mode", ["ema", "batch"])
def test_batch_norm_keeps_a_state(mode):
    norm, state = eqx.nn.make_with_state(eqx.nn.BatchNorm)(3, axis_name="batch", mode=mode)
    x = jr.normal(KEY, (16, 3)) * 2 + 1
    step = jax.vmap(norm, axis_name="batch", in_axes=(0, None), out_axes=(0, None))
    for _ in range(3):
        out, state = eqx.filter_jit(step)(x, state)
    assert out.shape == (16, 3)
    out, _ = jax.vmap(eqx.nn.inference_mode(norm), axis_name="batch", in_axes=(0, None), out_axes=(0, None))(
        x, state
    )
    assert bool(jnp.all(jnp.isfinite(out)))


def test_spectral_norm_keeps_a_state():
    make = lambda key: eqx.nn.SpectralNorm(eqx.nn.Linear(3, 3, key=key), "weight", key=key)
    norm, state = eqx.nn.make_with_state(make)(KEY)
    out, state = norm(jnp.ones(3), state)
    assert out.shape == (3,)


def test_states():
    class Counter(eqx.Module):
        index: eqx.nn.StateIndex

        def __init__(self):
            self.index = eqx.nn.StateIndex(jnp.array(0))

        def __call__(self, x, state):
            value = state.get(self.index)
            return x + value, state.set(self.index, value + 1)

    counter, state = eqx.nn.make_with_state(Counter)()
    step = eqx.filter_jit(lambda x, s: counter(x, s))
    for _ in range(3):
        out, state = step(jnp.array(0), state)
    assert int(out) == 2 and int(state.get(counter.index)) == 3
    sub = state.substate(counter)
    assert int(state.update(sub).get(counter.index)) == 3


def test_shared():
    class Tied(eqx.Module):
        shared: eqx.nn.Shared

        def __init__(self):
            parts = (eqx.nn.Embedding(4, 3, key=KEY), eqx.nn.Linear(3, 4, key=KEY))
            self.shared = eqx.nn.Shared(parts, lambda p: p[1].weight, lambda p: p[0].weight)

        def __call__(self, i):
            embedding, linear = self.shared()
            return linear(embedding(i))

    assert Tied()(1).shape == (4,)


# Internals that other libraries stand on ----------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["lax", "checkpointed", "bounded"])
def test_while_loops(kind):
    def run(x):
        out = eqxi.while_loop(
            lambda c: c[0] < 5,
            lambda c: (c[0] + 1, c[1] * x),
            (0, x),
            max_steps=16,
            kind=kind,
            checkpoints=4 if kind == "checkpointed" else None,
        )
        return out[1]

    np.testing.assert_allclose(jax.jit(run)(2.0), 64)
    if kind != "lax":
        np.testing.assert_allclose(jax.jit(jax.grad(run))(2.0), 6 * 2.0**5, rtol=1e-5)
    np.testing.assert_allclose(jax.jvp(run, (2.0,), (1.0,))[1] if kind == "lax" else 192.0, 192, rtol=1e-5)


def test_while_loop_buffers_and_vmap():
    def run(n):
        def body(c):
            i, buffer = c
            return i + 1, buffer.at[i].set(i * 2.0)

        return eqxi.while_loop(
            lambda c: c[0] < n,
            body,
            (0, jnp.zeros(8)),
            max_steps=8,
            kind="checkpointed",
            buffers=lambda c: c[1],
        )[1]

    np.testing.assert_allclose(jax.jit(run)(3), [0, 2, 4, 0, 0, 0, 0, 0])
    np.testing.assert_allclose(jax.vmap(run)(jnp.array([1, 2]))[1], [0, 2, 0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("kind", ["lax", "checkpointed"])
def test_scans(kind):
    def run(x):
        return eqxi.scan(
            lambda c, y: (c * y, c),
            x,
            jnp.arange(1.0, 5.0),
            kind=kind,
            checkpoints=2 if kind == "checkpointed" else None,
        )[0]

    np.testing.assert_allclose(jax.jit(jax.grad(run))(2.0), 24)


def test_noinline():
    f = eqxi.noinline(lambda x, y: jnp.sin(x) * y)
    x, y = jnp.array(0.5), jnp.array(2.0)
    np.testing.assert_allclose(eqx.filter_jit(f)(x, y), 2 * np.sin(0.5), rtol=1e-6)
    np.testing.assert_allclose(eqx.filter_jit(eqx.filter_grad(f))(x, y), 2 * np.cos(0.5), rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.vmap(f))(jnp.ones(2), jnp.ones(2)), np.sin([1, 1]), rtol=1e-6)


def test_nontraceable_and_nondifferentiable():
    with pytest.raises(Exception):
        jax.jvp(eqxi.nondifferentiable, (1.0,), (1.0,))
    assert float(eqxi.nondifferentiable(jnp.array(1.0))) == 1
    with pytest.raises(Exception):
        jax.grad(lambda x: eqxi.nondifferentiable_backward(x))(1.0)
    assert float(jax.jit(eqxi.nontraceable)(jnp.array(2.0))) == 2


def test_unvmap():
    some = jax.vmap(
        lambda x: (eqxi.unvmap_any(x > 1), eqxi.unvmap_all(x > 1), eqxi.unvmap_max(x)), out_axes=None
    )
    found = some(jnp.arange(3.0))
    assert (bool(found[0]), bool(found[1]), float(found[2])) == (True, False, 2)
    assert jax.jit(some)(jnp.arange(3.0))[0]


def test_nextafter_and_misc():
    assert float(eqxi.nextafter(jnp.array(1.0))) > 1
    assert float(eqxi.prevbefore(jnp.array(1.0))) < 1
    assert float(eqxi.left_broadcast_to(jnp.array([1.0, 2.0]), (2, 3))[1, 2]) == 2
    assert eqxi.ω([1.0, 2.0]).ω == [1.0, 2.0]


def test_omega():
    x, y = [jnp.array(1.0), jnp.array(2.0)], [jnp.array(3.0), jnp.array(4.0)]
    assert [float(v) for v in (eqxi.ω(x) + 2 * eqxi.ω(y)).ω] == [7, 10]
    assert [float(v) for v in eqxi.ω(x).call(jnp.square).ω] == [1, 4]


def test_custom_primitives_are_filtered():
    p = eqxi.create_vprim(
        "eco_scale",
        lambda x: [3 * x],
        lambda x: [x],
        lambda primals, tangents: ([3 * primals[0]], [3 * tangents[0]]),
        lambda inputs, cts: [3 * cts[0]],
    )
    assert float(p.bind(jnp.array(2.0))[0]) == 6
    np.testing.assert_allclose(jax.jit(jax.vmap(lambda x: p.bind(x)[0]))(jnp.arange(3.0)), [0, 3, 6])


def test_finalise():
    def f(x):
        return eqxi.nontraceable(jnp.sin(x)) + 1

    closed = jax.make_jaxpr(f)(1.0)
    final = eqxi.finalise_jaxpr(closed)
    assert "sin" in str(final)
    np.testing.assert_allclose(eqxi.finalise_fn(f)(1.0), np.sin(1) + 1, rtol=1e-6)


def test_checkpointed_loop_inside_vmap_of_grad():
    def run(x):
        step = lambda c: (c[0] + 1, jnp.sin(c[1]) * x)
        return eqxi.while_loop(
            lambda c: c[0] < 3, step, (0, x), max_steps=4, kind="checkpointed", checkpoints=2
        )[1]

    found = jax.vmap(jax.grad(run))(jnp.array([0.5, 1.0]))
    step = 1e-3
    wanted = [(run(x + step) - run(x - step)) / (2 * step) for x in (0.5, 1.0)]
    np.testing.assert_allclose(found, wanted, rtol=1e-2)


def test_training():
    import optax

    model = eqx.nn.MLP(1, 1, 16, 1, key=KEY)
    xs = jnp.linspace(-1, 1, 32)[:, None]
    ys = xs**2
    optimizer = optax.adam(1e-2)
    state = optimizer.init(eqx.filter(model, eqx.is_array))

    @eqx.filter_jit
    def step(model, state):
        loss, grads = eqx.filter_value_and_grad(lambda m: jnp.mean((jax.vmap(m)(xs) - ys) ** 2))(model)
        updates, state = optimizer.update(grads, state, model)
        return eqx.apply_updates(model, updates), state, loss

    losses = []
    for _ in range(60):
        model, state, loss = step(model, state)
        losses.append(float(loss))
    assert losses[-1] < losses[0] / 10


def test_function_partials_hash_and_eq():
    f = eqx.Partial(functools.reduce, lambda a, b: a + b)
    assert f([1, 2, 3]) == 6
    assert len(jax.tree_util.tree_leaves(eqx.Partial(jnp.add, jnp.ones(2)))) == 2
