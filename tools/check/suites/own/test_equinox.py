"""Cases written for Equinox, whose source distribution has no tests: its documented functions."""

# ruff: noqa: E501, RUF059
import functools
import io

import equinox as eqx
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


def test_function_partials_hash_and_eq():
    f = eqx.Partial(functools.reduce, lambda a, b: a + b)
    assert f([1, 2, 3]) == 6
    assert len(jax.tree_util.tree_leaves(eqx.Partial(jnp.add, jnp.ones(2)))) == 2


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
