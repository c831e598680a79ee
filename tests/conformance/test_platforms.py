"""platform_dependent: one branch runs, the others are not even written into the program."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.backend import lower_program
from rabbet.extend.primitive import Primitive

pytestmark = [
    pytest.mark.optimized,
    pytest.mark.needs("jit", "grad", "vmap", "cpu"),
    pytest.mark.usefixtures("on_the_cpu"),
]

X = np.linspace(0.1, 1.3, 4).astype("f4")

# Only a branch that is not chosen uses it: nothing could compile it.
nowhere = Primitive("nowhere", lambda x: x, kinds=("elementwise", "linear"))
nowhere.rule("transpose")(lambda op, ct, x: (op(ct),))


def f(x, shift=0.0):
    return lax.platform_dependent(
        {"x": x}, shift, cpu=lambda t, s: lax.sin(t["x"]) + s, default=lambda t, s: nowhere(t["x"]) + s
    )


def test_the_branch_of_this_platform():
    seen = []
    out = lax.platform_dependent(X, cpu=lambda x: x + 1, default=lambda x: seen.append(x) or x)
    np.testing.assert_array_equal(out, X + 1)
    assert seen == []
    assert lax.platform_dependent(X, tpu=lambda x: x, default=lambda x: x * 2)[1] == X[1] * 2
    assert float(rb.jit(lambda x: lax.platform_dependent(x, default=lambda x: x * 2))(1.5)) == 3.0


@pytest.mark.parametrize(
    "transform,wanted",
    [
        (lambda f: f, np.sin(X)),
        (rb.jit, np.sin(X)),
        (rb.vmap, np.sin(X)),
        (lambda f: rb.jit(rb.vmap(f)), np.sin(X)),
        (lambda f: rb.vmap(rb.grad(rb.jit(f))), np.cos(X)),
        (lambda f: rb.jit(rb.vmap(rb.grad(rb.jit(f)))), np.cos(X)),
        (lambda f: rb.jit(rb.vmap(rb.grad(rb.grad(f)))), -np.sin(X)),
        (lambda f: lambda x: lax.map(f, x), np.sin(X)),
        (lambda f: rb.grad(lambda x: lax.reduce_sum(lax.map(f, x), axes=(0,))), np.cos(X)),
        (lambda f: lambda x: rb.jvp(rb.jit(f), (x,), (x,))[1], np.cos(X) * X),
    ],
)
def test_under_transformations(transform, wanted):
    np.testing.assert_allclose(transform(f)(rb.device_put(X)), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("checked", [False, True])
def test_only_that_branch_is_lowered(checked):
    def g(x):
        return lax.platform_dependent(x, cpu=lax.sin, cuda=lax.tanh, default=lax.exp)

    text = rb.jit(g).lower(X).as_text()
    assert "stablehlo.sine" in text
    assert not any(word in text for word in ("case", "tanh", "exponential"))
    for platform, word in (("cuda", "tanh"), ("tpu", "exponential")):
        with rb.config.override(enable_checks=checked):
            assert word in lower_program(rb.make_jaxpr(g)(X).jaxpr, platform, "g").module.text


def test_what_is_refused():
    with pytest.raises(NotImplementedError, match=r"no branch for the platform 'cpu', only for 'tpu'"):
        lax.platform_dependent(X, tpu=lax.sin)
    with pytest.raises(NotImplementedError, match=r"no branch for the platform 'cpu'"):
        rb.jit(lambda x: lax.platform_dependent(x, tpu=lax.sin))(X)
    with pytest.raises(TypeError, match="needs a function"):
        lax.platform_dependent(X)
    with pytest.raises(TypeError, match="tpu must be a function"):
        lax.platform_dependent(X, tpu=3)
    with pytest.raises(TypeError, match=r"platform_dependent: all branches must return the same types"):
        rb.jit(lambda x: lax.platform_dependent(x, cpu=lax.sin, tpu=lambda x: x[0]))(X)
