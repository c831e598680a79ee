"""What differentiation says to those who made a mistake: who, which argument, what next."""

import functools
import traceback

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.extend.transform import context

X = np.arange(3, dtype="f4")


def model(weights, x):
    return lax.reduce_sum(weights["w"] * x, axes=(0,))


def message(call, error=TypeError):
    with pytest.raises(error) as caught:
        call()
    assert lax.add(1, 2) == 3 and context.where is None
    return str(caught.value)


WHO = ("model (", "test_messages.py")


def has(text, *parts):
    for part in parts:
        assert part in text, text


# ----------------------------------------------------------------------------------------------- outputs
def test_an_output_that_is_no_scalar():
    vector = lambda x: x * 2
    has(
        message(lambda: rb.grad(vector)(X)),
        "grad of",
        "test_messages.py",
        "scalar",
        "f32[3]",
        "jacrev",
        "sum",
    )
    has(message(lambda: rb.value_and_grad(vector)(X)), "value_and_grad of", "f32[3]")


def test_several_outputs():
    has(message(lambda: rb.grad(lambda x: (x, x))(1.0)), "2 arrays", "has_aux")
    has(message(lambda: rb.grad(lambda x: None)(1.0)), "one scalar, it returned None;", "has_aux")
    has(message(lambda: rb.grad(lambda x: ())(1.0)), "a tuple of length 0 with 0 arrays")


def test_an_output_that_is_no_number():
    has(message(lambda: rb.grad(lambda x: x > 0)(1.0)), "floating point scalar", "bool[]", "astype")
    has(message(lambda: rb.grad(lambda x: 3)(1.0)), "i32[]")
    has(message(lambda: rb.grad(lambda x: x * 1j)(1.0)), "real scalar", "c64[]", "holomorphic")
    has(message(lambda: rb.grad(lambda x: "text")(1.0)), "str", "'text'", "has_aux")
    has(message(lambda: rb.jvp(lambda x: {"name": "text"}, (1.0,), (1.0,))), "['name']", "str")


def test_a_function_without_auxiliary_results():
    has(message(lambda: rb.grad(lambda x: x, has_aux=True)(1.0)), "has_aux", "pair", "test_messages.py")
    has(message(lambda: rb.vjp(lambda x: (x, x, x), 1.0, has_aux=True)), "has_aux", "pair")


# ---------------------------------------------------------------------------------------------- arguments
def test_integer_arguments():
    has(
        message(lambda: rb.grad(model)({"w": np.arange(3)}, X)),
        *WHO,
        "'weights'['w']",
        "i32[3]",
        "allow_int",
        "argnums",
    )
    has(message(lambda: rb.grad(lambda x: x * 2.0)(3)), "'x'", "i32[]", "astype")
    has(message(lambda: rb.jacrev(lambda x: x * 2.0)(3)), "jacrev", "i32[]")
    has(message(lambda: rb.jacfwd(lambda x: x * 2.0)(True)), "jacfwd", "bool[]")


def test_arguments_that_are_no_arrays():
    has(message(lambda: rb.grad(model)({"w": "big"}, X)), *WHO, "'weights'['w']", "str")
    has(message(lambda: rb.vjp(model, {"w": "big"}, X)), *WHO, "'weights'['w']", "str")
    has(message(lambda: rb.jvp(model, ({"w": "big"}, X), ({"w": "big"}, X))), *WHO, "'weights'['w']", "str")
    has(message(lambda: rb.linearize(model, {"w": object()}, X)), *WHO, "'weights'['w']", "object")


def test_wrong_argnums():
    has(message(lambda: rb.grad(model, 2)({"w": X}, X)), *WHO, "argnums=2", "2 positional")
    has(message(lambda: rb.grad(model, -3)({"w": X}, X)), "argnums=-3")
    has(message(lambda: rb.grad(model, (0, 5))({"w": X}, X)), "argument 5")
    has(message(lambda: rb.grad(model, 1)({"w": X}, x=X)), "1 positional", "keyword", "by position")
    has(message(lambda: rb.grad(model, (0, -2))({"w": X}, X), ValueError), "twice")
    has(message(lambda: rb.grad(model, 1.0)({"w": X}, X)), "argnums must be ints", "1.0")
    has(message(lambda: rb.grad(model, "w")({"w": X}, X)), "argnums must be ints", "'w'")
    has(message(lambda: rb.jacfwd(model, 7)({"w": X}, X)), "jacfwd", "argnums=7")


def test_no_function():
    has(message(lambda: rb.grad(3)), "grad takes a function, got int")
    for name in ("jacfwd", "jacrev", "hessian", "value_and_grad"):
        has(message(functools.partial(getattr(rb, name), 3)), f"{name} takes a function, got int")
    has(message(lambda: rb.jvp(3, (1.0,), (1.0,))), "jvp takes a function, got int")
    has(message(lambda: rb.vjp(3, 1.0)), "vjp takes a function, got int")
    has(message(lambda: rb.linearize(3, 1.0)), "linearize takes a function, got int")


def test_complex_arguments():
    z = np.complex64(1j)
    has(message(lambda: rb.jacfwd(lambda z: z)(z)), "complex", "c64[]", "holomorphic=True")
    has(
        message(lambda: rb.jacrev(lambda z: z)(z)), "real floating point outputs", "c64[]", "holomorphic=True"
    )
    has(message(lambda: rb.jacrev(lambda x: {"n": 3, "x": x})(1.0)), "output['n']", "i32[]", "has_aux")
    has(message(lambda: rb.grad(lambda x: x, holomorphic=True)(1.0)), "needs complex inputs", "f32[]")
    has(message(lambda: rb.grad(lambda z: lax.real(z), holomorphic=True)(z)), "complex output", "f32[]")


# ----------------------------------------------------------------------------------- tangents, cotangents
@pytest.mark.narrow
def test_tangents_that_do_not_fit():
    has(
        message(lambda: rb.jvp(model, ({"w": X}, X), ({"v": X}, X))), *WHO, "structure", "tangents", "primals"
    )
    has(
        message(lambda: rb.jvp(lambda x: x, (X,), (np.ones(4, "f4"),)), ValueError),
        "tangent",
        "'x'",
        "f32[4]",
        "f32[3]",
    )
    has(message(lambda: rb.jvp(lambda x: x, (X,), (np.ones(3, "i4"),))), "i32[3]", "f32[3]")
    has(message(lambda: rb.jvp(lambda n: n, (3,), (1,))), "i32[]", "float0")
    has(message(lambda: rb.jvp(lambda x: x, 1.0, 1.0)), "tuples", "float")
    has(message(lambda: rb.jvp(lambda x: x, (1.0,), (1.0, 2.0))), "structure")


def test_cotangents_that_do_not_fit():
    _, pull = rb.vjp(model, {"w": X}, X)
    has(message(lambda: pull((1.0, 2.0)), ValueError), *WHO, "structure", "cotangent", "output")
    has(message(lambda: pull(X), ValueError), "f32[3]", "f32[]", "cotangent")
    has(message(lambda: pull(1)), "i32[]", "f32[]")
    _, push = rb.linearize(lambda x: x, X)
    has(message(lambda: push(np.ones(2, "f4")), ValueError), "f32[2]", "f32[3]")
    has(message(lambda: push(X, X)), "structure")


# -------------------------------------------------------------------------------------------------- rules
def test_a_primitive_without_a_rule():
    from rabbet.extend.primitive import Primitive

    odd = Primitive("odd", lambda x: x)

    def f(x):
        return odd(x) * 2

    text = message(lambda: rb.grad(f)(1.0), rb.errors.MissingRule)
    has(
        text,
        "'jvp' rule for primitive 'odd'",
        f"test_messages.py:{f.__code__.co_firstlineno + 1}",
        "@odd.rule('jvp')",
    )


# ------------------------------------------------------------------------------------------- state, leaks
def test_an_exception_leaves_the_thread_clean():
    def raising(x):
        raise KeyError("mine")

    for call in (
        rb.grad(raising),
        rb.jacfwd(raising),
        rb.grad(rb.grad(raising)),
        lambda x: rb.vjp(raising, x),
    ):
        message(functools.partial(call, 1.0), KeyError)
    assert rb.grad(lambda x: x * x)(1.0) == 2


def test_tracebacks_show_the_users_frames_only():
    def inner(x):
        x * 2
        raise KeyError("mine")

    with pytest.raises(KeyError) as caught:
        rb.grad(rb.grad(lambda x: inner(x)))(1.0)
    files = {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)}
    assert files == {__file__}


@pytest.mark.parametrize("use", [lambda y: y + 1, float, lambda y: rb.grad(lambda z: z * y)(1.0), np.asarray])
def test_a_leaked_tracer(use):
    kept = []

    def f(x):
        y = x * 3
        kept.append(y)
        return y

    rb.grad(f)(1.0)
    text = message(lambda: use(kept[0]), rb.errors.UnexpectedTracerError)
    has(text, f"test_messages.py:{f.__code__.co_firstlineno + 1}", "differentiation of", "f32[]")


def test_what_jax_refuses_as_values_is_refused_as_one():
    with pytest.raises(ValueError, match="must have the type"):
        rb.vjp(lambda x: x, 1.0)[1](1)
    with pytest.raises(ValueError, match="must have the type"):
        rb.linearize(lambda x: x * x, 3.0)[1](1)
    with pytest.raises(TypeError, match="must have one structure, got tuple and list"):
        rb.jvp(lambda x: x, (1.0,), [1.0])
