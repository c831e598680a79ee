"""Derivatives under jax and under rabbet: values, dtypes, weakness, structures, and what raises.

Complex functions follow JAX's convention: `grad` of a real function of complex values is the
conjugate of the steepest ascent, `vjp` does not conjugate, holomorphic functions have one complex
derivative.
"""

import jax
import numpy as np
import pytest
import rabbet as rb

R = np.random.RandomState(0)
X = R.randn(3).astype("f4")
M = R.randn(3, 3).astype("f4")
Z = (R.randn(3) + 1j * R.randn(3)).astype("c8")
W = (R.randn(3) + 1j * R.randn(3)).astype("c8")


def total(lax, x):
    return lax.reduce_sum(x, axes=tuple(range(x.ndim))) if hasattr(x, "ndim") else x


def run(framework, program):
    return program(framework, framework.lax)


def agree(program, rtol=1e-5):
    """Run a program under both; compare structures, shapes, dtypes, weakness and values."""
    wanted, got = run(jax, program), run(rb, program)
    jax_leaves, wanted_tree = jax.tree.flatten(wanted)
    rb_leaves, got_tree = rb.tree.flatten(got)
    assert str(wanted_tree) == str(got_tree)
    for a, b in zip(rb_leaves, jax_leaves, strict=True):
        a_dtype, b_dtype = np.asarray(a).dtype, np.asarray(b).dtype
        assert np.shape(a) == np.shape(b) and (a_dtype == b_dtype or {a_dtype.names, b_dtype.names} == {None})
        if a_dtype.itemsize and a_dtype.kind != "V":
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=rtol, atol=1e-6)
        if hasattr(b, "weak_type") and hasattr(a, "weak_type"):
            assert a.weak_type == b.weak_type


COMPLEX = {
    "abs squared": lambda lax, z: total(lax, lax.real(z * lax.conj(z))),
    "abs": lambda lax, z: total(lax, lax.abs(z)),
    "real part": lambda lax, z: total(lax, lax.real(z * z)),
    "imaginary part": lambda lax, z: total(lax, lax.imag(z * z * (1 + 2j))),
    "exp": lambda lax, z: total(lax, lax.real(lax.exp(z) * 1j)),
    "sin": lambda lax, z: total(lax, lax.imag(lax.sin(z))),
    "tanh": lambda lax, z: total(lax, lax.real(lax.tanh(z))),
    "log": lambda lax, z: total(lax, lax.real(lax.log(z))),
    "sqrt": lambda lax, z: total(lax, lax.imag(lax.sqrt(z))),
    "division": lambda lax, z: total(lax, lax.real((1 + z) / (z * z + 3))),
    "power": lambda lax, z: total(lax, lax.real(lax.integer_pow(z, 3))),
    "conjugate": lambda lax, z: total(lax, lax.real(lax.conj(z) * W)),
    "parts put together": lambda lax, z: total(lax, lax.abs(lax.complex(lax.imag(z), lax.real(z) * 2))),
    "product": lambda lax, z: lax.real(lax.dot(z, lax.conj(z) * W)),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_real_functions_of_complex_values(name):
    f = COMPLEX[name]
    agree(lambda fw, lax: fw.value_and_grad(lambda z: f(lax, z))(Z))
    agree(lambda fw, lax: fw.jit(fw.grad(fw.jit(lambda z: f(lax, z))))(Z))
    agree(lambda fw, lax: fw.jvp(lambda z: f(lax, z), (Z,), (W,)))
    agree(lambda fw, lax: fw.vmap(fw.grad(lambda z: f(lax, z)))(np.stack([Z, W])))


HOLOMORPHIC = {
    "exp": lambda lax, z: lax.exp(z * 1j),
    "sin": lambda lax, z: lax.sin(z),
    "rational": lambda lax, z: (z * z + 1) / (z + 3),
    "log": lambda lax, z: lax.log(z + 2),
    "power": lambda lax, z: lax.integer_pow(z, 3) * (1 + 2j),
    "tanh": lambda lax, z: lax.tanh(z),
    "sqrt": lambda lax, z: lax.sqrt(z + 2),
}


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_holomorphic_functions(name):
    f = HOLOMORPHIC[name]
    agree(lambda fw, lax: fw.grad(lambda z: f(lax, z), holomorphic=True)(Z[0]))
    agree(lambda fw, lax: fw.jacfwd(lambda z: f(lax, z), holomorphic=True)(Z), rtol=1e-4)
    agree(lambda fw, lax: fw.jacrev(lambda z: f(lax, z), holomorphic=True)(Z), rtol=1e-4)
    agree(lambda fw, lax: fw.vjp(lambda z: f(lax, z), Z)[1](W), rtol=1e-4)
    agree(lambda fw, lax: fw.linearize(lambda z: f(lax, z), Z)[1](W), rtol=1e-4)
    agree(lambda fw, lax: fw.hessian(lambda z: f(lax, z), holomorphic=True)(Z[1]), rtol=1e-4)


def test_complex_functions_of_real_values():
    agree(lambda fw, lax: fw.jvp(lambda x: lax.complex(x, lax.sin(x)), (X,), (X,)))
    agree(lambda fw, lax: fw.vjp(lambda x: lax.complex(x, lax.sin(x)), X)[1](W))
    agree(lambda fw, lax: fw.jacfwd(lambda x: lax.complex(x, x * x))(X))
    agree(lambda fw, lax: fw.jacrev(lambda z: lax.abs(z))(Z))
    agree(lambda fw, lax: fw.grad(lambda x: lax.abs(lax.complex(x, x * 2)))(np.float32(1.5)))


REAL = {
    "value_and_grad of a tree": lambda fw, lax: fw.value_and_grad(lambda p: p["x"] * p["y"][0] ** 2)(
        {"x": 2.0, "y": [3.0]}
    ),
    "unused": lambda fw, lax: fw.grad(lambda x, y: x * 2.0, (0, 1))(1.0, X),
    "weak": lambda fw, lax: fw.grad(lambda x: x * x)(3.0),
    "weak value": lambda fw, lax: fw.value_and_grad(lambda x: x * 2.0)(3.0),
    "weak second": lambda fw, lax: fw.grad(fw.grad(lambda x: x * x * x))(3.0),
    "weak jvp": lambda fw, lax: fw.jvp(lambda x: x * x, (3.0,), (1.0,)),
    "weak vjp": lambda fw, lax: fw.vjp(lambda x: x * x, 3.0)[1](1.0),
    "half": lambda fw, lax: fw.grad(lambda x: total(lax, x * x))(X.astype("f2")),
    "mixed": lambda fw, lax: fw.grad(lambda x, y: total(lax, x.astype("float32") * y), (0, 1))(
        X.astype("f2"), X
    ),
    "allow_int": lambda fw, lax: fw.grad(lambda x, n: x * n, (0, 1), allow_int=True)(2.0, 3),
    "has_aux": lambda fw, lax: fw.grad(lambda x: (x * x, {"a": x, "n": 3}), has_aux=True)(2.0),
    "jacobian trees": lambda fw, lax: fw.jacrev(lambda p: [p["a"] * X, p["b"]])({"a": 2.0, "b": X}),
    "jacfwd trees": lambda fw, lax: fw.jacfwd(lambda p: [p["a"] * X, p["b"]])({"a": 2.0, "b": X}),
    "hessian trees": lambda fw, lax: fw.hessian(lambda p: total(lax, p["a"] * p["b"] ** 3))(
        {"a": np.float32(2), "b": X}
    ),
    "max ties": lambda fw, lax: fw.grad(lambda x: lax.reduce_max(x, axes=(0,)))(np.array([1, 3, 3], "f4")),
    "maximum ties": lambda fw, lax: fw.grad(lambda x: total(lax, lax.max(x, X)))(X),
    "abs at zero": lambda fw, lax: fw.grad(lax.abs)(0.0),
    "sqrt at zero": lambda fw, lax: fw.grad(lax.sqrt)(0.0),
    "sign": lambda fw, lax: fw.grad(lambda x: lax.sign(x) * x)(-2.0),
    "power at zero": lambda fw, lax: fw.grad(lambda x: x**2.0)(np.float32(0)),
    "integer power at zero": lambda fw, lax: fw.grad(lambda x: x**0)(0.0),
    "product with zeros": lambda fw, lax: fw.grad(lambda x: lax.reduce_prod(x, axes=(0,)))(
        np.array([2, 0, 3], "f4")
    ),
    "sort": lambda fw, lax: fw.grad(lambda x: total(lax, lax.sort(x) * X))(X),
    "cumsum": lambda fw, lax: fw.grad(lambda x: total(lax, lax.cumsum(x) * X))(X),
    "dot": lambda fw, lax: fw.grad(lambda m: total(lax, lax.dot(m, M) * M))(M),
    "select": lambda fw, lax: fw.grad(lambda x: total(lax, lax.select(x > 0, x * x, x)))(X),
    "clamp": lambda fw, lax: fw.grad(lambda x: total(lax, lax.clamp(-0.5, x, 0.5)))(X),
    "stop_gradient": lambda fw, lax: fw.grad(lambda x: total(lax, lax.stop_gradient(x) * x))(X),
    "third": lambda fw, lax: fw.grad(fw.grad(fw.grad(lambda x: lax.sin(x) * lax.exp(x))))(0.3),
}


@pytest.mark.parametrize("name", REAL)
def test_real_functions(name):
    agree(REAL[name])


@pytest.mark.parametrize("name", [n for n in REAL if n != "allow_int"])
def test_real_functions_under_jit(name):
    agree(lambda fw, lax: fw.jit(lambda: REAL[name](fw, lax))())


CUSTOM = {
    "jvp": lambda fw, f: fw.jvp(f, (2.0,), (1.0,)),
    "grad": lambda fw, f: fw.grad(f)(2.0),
    "second": lambda fw, f: fw.grad(fw.grad(f))(2.0),
    "jit": lambda fw, f: fw.jit(fw.grad(fw.jit(f)))(2.0),
    "map": lambda fw, f: fw.vmap(fw.grad(f))(X),
    "of a map": lambda fw, f: fw.grad(lambda x: fw.lax.reduce_sum(fw.vmap(f)(x), axes=(0,)))(X),
    "of a compiled map": lambda fw, f: fw.jit(
        fw.grad(lambda x: fw.lax.reduce_sum(fw.jit(fw.vmap(f))(x), axes=(0,)))
    )(X),
}


@pytest.mark.parametrize("name", CUSTOM)
def test_custom_jvp(name):
    def program(fw, lax):
        f = fw.custom_jvp(lambda x: lax.sin(x) * x)
        f.defjvp(lambda p, t: (f(*p), t[0] * p[0] * 7 + lax.cos(p[0]) * t[0]))
        return CUSTOM[name](fw, f)

    agree(program)


@pytest.mark.parametrize("name", [n for n in CUSTOM if n != "jvp"])
def test_custom_vjp(name):
    def program(fw, lax):
        f = fw.custom_vjp(lambda x: lax.sin(x) * x)
        f.defvjp(lambda x: (f(x), (x,)), lambda res, ct: (ct * res[0] * 7,))
        return CUSTOM[name](fw, f)

    agree(program)


REFUSED = {
    "vector": lambda fw: fw.grad(lambda x: x)(X),
    "integer": lambda fw: fw.grad(lambda x: x * 1.0)(3),
    "integer output": lambda fw: fw.grad(lambda x: 3)(3.0),
    "complex output": lambda fw: fw.grad(lambda x: x * 1j)(3.0),
    "argnums": lambda fw: fw.grad(lambda x: x, 1)(3.0),
    "aux": lambda fw: fw.grad(lambda x: x, has_aux=True)(3.0),
    "jacfwd complex": lambda fw: fw.jacfwd(lambda z: z)(Z),
    "jacrev complex": lambda fw: fw.jacrev(lambda z: z)(Z),
    "tangent dtype": lambda fw: fw.jvp(lambda x: x, (X,), (X.astype("i4"),)),
    "tangent shape": lambda fw: fw.jvp(lambda x: x, (X,), (M,)),
    "cotangent shape": lambda fw: fw.vjp(lambda x: x, X)[1](M),
    "cotangent tree": lambda fw: fw.vjp(lambda x: x, X)[1]((X, X)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_both_refuse(name):
    with pytest.raises((TypeError, ValueError)) as wanted:
        REFUSED[name](jax)
    with pytest.raises((TypeError, ValueError)) as got:
        REFUSED[name](rb)
    assert isinstance(got.value, TypeError) == isinstance(wanted.value, TypeError)
