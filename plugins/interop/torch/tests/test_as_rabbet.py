"""Functions and modules of PyTorch in Rabbet's programs."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

torch = pytest.importorskip("torch")

RNG = np.random.RandomState(0)
X, Y = rb.torch.from_torch(list(torch.from_numpy(RNG.randn(2, 3, 4))))  # in float64


def tensor_f(x, y):
    return torch.sin(x) * y + torch.exp(-x) / (1 + y * y)


def f(x, y):
    return lax.sin(x) * y + lax.exp(-x) / (1 + y * y)


def total(fun):
    return lambda *args: lax.reduce_sum(fun(*args), axes=(0, 1))


@pytest.mark.parametrize("transform", [lambda f: f, rb.jit])
def test_derivatives_are_those_of_the_same_function_in_rabbet(transform):
    fun = rb.torch.as_rabbet(tensor_f)
    np.testing.assert_allclose(transform(fun)(X, Y), f(X, Y), rtol=1e-12)
    for mine, theirs in zip(
        transform(rb.grad(total(fun), (0, 1)))(X, Y), rb.grad(total(f), (0, 1))(X, Y), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-10)

    def slope(fun):
        return total(rb.grad(lambda *a: total(fun)(*a), 0))

    for i in (0, 1):
        np.testing.assert_allclose(
            transform(rb.grad(slope(fun), i))(X, Y), rb.grad(slope(f), i)(X, Y), rtol=1e-9, atol=1e-12
        )


def test_third_derivative():
    fun = rb.torch.as_rabbet(torch.sin)
    assert float(rb.jit(rb.grad(rb.grad(rb.grad(fun))))(0.7)) == pytest.approx(-np.cos(0.7), rel=1e-6)


def test_derivatives_by_complex_numbers_follow_the_convention_of_jax():
    z = X + 1j * Y
    fun, same = rb.torch.as_rabbet(lambda z: z * z * z.conj()), lambda z: z * z * lax.conj(z)
    cotangent = lax.exp(z * 1j)
    np.testing.assert_allclose(rb.vjp(fun, z)[1](cotangent)[0], rb.vjp(same, z)[1](cotangent)[0], rtol=1e-10)


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled", "broadcast_all"])
def test_vmap_is_a_loop(method):
    fun = rb.torch.as_rabbet(lambda x, w: torch.softmax(x * w, -1), vmap_method=method)
    w = rb.torch.from_torch(torch.linspace(1, 2, 4, dtype=torch.float64))
    np.testing.assert_allclose(rb.vmap(fun, (0, None))(X, w), np.stack([fun(x, w) for x in X]), rtol=1e-12)
    slopes = rb.vmap(rb.grad(lambda x, w: fun(x, w)[0], (0, 1)), (0, None))
    for mine, theirs in zip(rb.jit(slopes)(X, w), slopes(X, w), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    one = [rb.grad(lambda w, x=x: fun(x, w)[0])(w) for x in X]
    np.testing.assert_allclose(slopes(X, w)[1], np.stack(one), rtol=1e-10)


def test_structures_constants_and_what_has_no_gradient():
    @rb.torch.as_rabbet
    def fun(data, dim, *, keepdim=False):
        return {
            "sum": data["x"].sum(dim, keepdim=keepdim),
            "arg": (data["x"] * data["i"]).argmax(),
            "none": None,
        }

    out = rb.jit(lambda x, i: fun({"x": x, "i": i}, 1, keepdim=True))(X, np.arange(4, dtype="i4"))
    assert out["none"] is None and out["arg"].dtype == "int64"
    np.testing.assert_allclose(out["sum"], np.asarray(X).sum(1, keepdims=True))
    slope = rb.grad(lambda x: fun({"x": x, "i": np.arange(4, dtype="i4")}, 0)["sum"][1])(X)
    np.testing.assert_array_equal(slope, np.eye(4)[None, 1].repeat(3, 0))


def test_an_argument_that_does_not_matter_has_a_gradient_of_zero():
    fun = rb.torch.as_rabbet(lambda x, y: x.sum() + y.detach().sum())
    np.testing.assert_array_equal(rb.grad(fun, 1)(X, Y), np.zeros_like(Y))
    np.testing.assert_array_equal(
        rb.grad(rb.torch.as_rabbet(lambda x: x.round().sum().detach()))(X), np.zeros_like(X)
    )


def test_random_numbers_are_the_same_forward_and_back():
    fun = rb.torch.as_rabbet(lambda x: torch.nn.functional.dropout(x, 0.5))
    x = np.ones((50, 50), "f4")

    def both(x):
        out, back = rb.vjp(fun, x)
        return out, back(out * 0 + 1)[0]

    torch.manual_seed(0)
    out, slope = rb.jit(both)(x)
    np.testing.assert_array_equal(out, slope)
    assert 0.4 < float((out == 0).mean()) < 0.6
    again, _ = rb.jit(both)(x)
    assert (again != out).any()
    _, slopes = rb.vmap(both)(x)
    assert 0.4 < float((slopes == 0).mean()) < 0.6


def test_the_way_back_leaves_the_generator_alone():
    fun = rb.torch.as_rabbet(lambda x: torch.nn.functional.dropout(x, 0.5))
    out, back = rb.vjp(fun, np.ones(8, "f4"))
    out.block_until_ready()
    state = torch.get_rng_state()
    rb.block_until_ready(back(out))
    assert torch.equal(state, torch.get_rng_state())


def test_types_are_found_without_running_the_function_or_said():
    values = []

    def noted(x):
        values.append(type(x).__name__)
        return x.sum(-1)

    fun = rb.torch.as_rabbet(noted)
    assert rb.eval_shape(fun, X).shape == (3,)
    assert values == ["FakeTensor"]
    branching = lambda x: x if x.sum() > 0 else -x
    with pytest.raises(TypeError, match=r"could not be found without values(.|\n)*ShapeDtypeStruct"):
        rb.torch.as_rabbet(branching)(X)
    said = rb.torch.as_rabbet(branching, lambda x: rb.ShapeDtypeStruct(x.shape, x.dtype))
    np.testing.assert_array_equal(rb.jit(said)(-abs(X)), abs(X))
    np.testing.assert_array_equal(rb.jit(rb.grad(total(said)))(-abs(X)), -np.ones_like(X))
    wrong = rb.torch.as_rabbet(branching, rb.ShapeDtypeStruct((3,), "float64"))
    with pytest.raises((TypeError, ValueError), match="promised"):
        wrong(X)


def test_what_is_refused_says_why():
    with pytest.raises(TypeError, match="as_rabbet takes a function of PyTorch, got str"):
        rb.torch.as_rabbet("net")
    with pytest.raises(ValueError, match="vmap_method is one of"):
        rb.torch.as_rabbet(torch.sin, vmap_method="expand_dims")
    with pytest.raises(TypeError, match=r"returned at \['n'\] int 3"):
        rb.torch.as_rabbet(lambda x: {"n": 3, "x": x})(X)
    with pytest.raises(TypeError, match="no tensors of int4"):
        rb.torch.as_rabbet(torch.sin)(lax.full((2,), 1, "int4"))
    said = rb.torch.as_rabbet(lambda x: x.mul_(2), rb.ShapeDtypeStruct(X.shape, X.dtype))
    for fun in (said, rb.jit(said)):
        with pytest.raises(RuntimeError, match=r"wrote into array 0(.|\n)*x.clone"):
            rb.block_until_ready(fun(X))
    with pytest.raises(Exception, match="forward-mode"):
        rb.jvp(rb.torch.as_rabbet(torch.sin), (1.0,), (1.0,))


# ------------------------------------------------------------------------------------------------- modules
def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
    )


def test_a_module_is_a_function_of_its_parameters():
    net, x = network(), RNG.randn(16, 4).astype("f4")
    apply, params = rb.torch.from_module(net)
    assert sorted(params) == sorted(name for name, _ in net.named_parameters())

    def loss(params, x):
        return lax.reduce_sum(apply(params, x) ** 2, axes=(0, 1))

    value, slopes = rb.jit(rb.value_and_grad(loss))(params, x)
    assert net[1].num_batches_tracked == 0  # what it keeps is left alone
    (net(torch.from_numpy(x)) ** 2).sum().backward()
    for name, p in net.named_parameters():
        np.testing.assert_allclose(slopes[name], p.grad, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(value, (apply(params, x) ** 2).sum(), rtol=1e-5)


def test_what_a_module_keeps_goes_through():
    net, x = network(), RNG.randn(16, 4).astype("f4")
    apply, params, state = rb.torch.from_module(net, buffers=True)
    step = rb.jit(apply)
    out, state = step(params, state, x)
    out, state = step(params, state, x)
    assert net[1].num_batches_tracked == 0 and state["1.num_batches_tracked"] == 2
    for _ in range(2):
        expected = net(torch.from_numpy(x))
    np.testing.assert_allclose(out, expected.detach(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(state["1.running_mean"], net[1].running_mean, rtol=1e-5)


def test_derivatives_beside_what_a_module_keeps():
    net, x = network(), RNG.randn(16, 4).astype("f4")
    apply, params, state = rb.torch.from_module(net, buffers=True)

    def loss(params, state):
        out, state = apply(params, state, x)
        return (out**2).sum(), state

    slopes, new = rb.jit(rb.grad(loss, has_aux=True))(params, state)
    (net(torch.from_numpy(x)) ** 2).sum().backward()
    for name, p in net.named_parameters():
        np.testing.assert_allclose(slopes[name], p.grad, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(new["1.running_mean"], net[1].running_mean, rtol=1e-5)


def test_parameters_that_do_not_fit():
    apply, params = rb.torch.from_module(torch.nn.Linear(2, 2))
    with pytest.raises(ValueError, match=r"names \['bias', 'weight'\], got \['weight'\]"):
        apply({"weight": params["weight"]}, np.ones((1, 2), "f4"))
    with pytest.raises(TypeError, match="functions go to as_rabbet"):
        rb.torch.from_module(torch.sin)
