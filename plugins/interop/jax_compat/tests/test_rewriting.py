"""Programs that a library walks, rewrites and binds again, as Distrax does to invert functions."""

import numpy as np
import pytest
import rabbet as jax
import rabbet.numpy as jnp
from rabbet.extend.primitive import Primitive
from rabbet_jax.overlay.extend import core as jex


def rewritten(program, consts, *args):
    """Run a program of JAX by binding its equations again, each program in them traced anew by this."""

    def again(body):
        closed = jax.make_jaxpr(lambda *args: rewritten(body.jaxpr, body.consts, *args))(*body.in_avals)
        assert closed.consts or not any(ZERO.shape == v.aval.shape for v in body.outvars)
        return closed

    env = dict(zip([*program.constvars, *program.invars], [*consts, *args], strict=True))
    read = lambda v: v.val if isinstance(v, jex.Literal) else env[v]
    for eqn in program.eqns:
        params = dict(eqn.params)
        for name, value in params.items():
            if isinstance(value, jex.ClosedJaxpr):
                params[name] = again(value)
            elif isinstance(value, tuple) and value and isinstance(value[0], jex.ClosedJaxpr):
                params[name] = tuple(map(again, value))
        made = eqn.primitive.bind(*map(read, eqn.invars), **params)
        env.update(zip(eqn.outvars, made if eqn.primitive.multiple_results else [made], strict=True))
    return [shifted(read(v)) for v in program.outvars] if program.outvars else []


def shifted(x):
    """``x``, by way of an array that the rewriter captures."""
    return x + jnp.array(ZERO) if x.shape == ZERO.shape and x.dtype == ZERO.dtype else x


# Of NumPy: other tests may end the client that holds a module's arrays.
ZERO = np.zeros(3, "float32")
CAPTURED = np.arange(3, dtype="float32")
BODIES = {
    "jit": jax.jit(lambda x: jnp.sin(x) * CAPTURED),
    "cond": lambda x: jax.lax.cond(x[0] > 0, lambda x: x + CAPTURED, lambda x: x * CAPTURED, x),
    "switch": lambda x: jax.lax.switch(x[0].astype(int), [jnp.sin, lambda x: x * CAPTURED, jnp.cos], x),
    "scan": lambda x: jax.lax.scan(lambda c, b: (c * b + CAPTURED, c), x, jnp.arange(2.0)),
    "while": lambda x: jax.lax.while_loop(lambda c: (c + CAPTURED).sum() < 50, lambda c: c * 2 + CAPTURED, x),
    "checkpoint": jax.checkpoint(lambda x: jnp.sin(x + CAPTURED)),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("around", [lambda f: f, jax.jit, jax.vmap], ids=["eager", "jit", "vmap"])
def test_programs_within_programs_may_be_closed_ones(name, around):
    x = jnp.ones((2, 3) if around is jax.vmap else 3)
    closed = jax.make_jaxpr(BODIES[name])(jnp.ones(3))
    found = around(lambda x: rewritten(closed.jaxpr, closed.consts, x))(x)
    for one, wanted in zip(found, jax.tree.leaves(around(BODIES[name])(x)), strict=True):
        np.testing.assert_allclose(one, wanted, rtol=1e-6)


def test_a_program_that_captures_arrays_where_they_have_no_place():
    odd = Primitive("odd_body", lambda x, body: x, kinds=("body",))
    captures, free = jax.make_jaxpr(lambda x: x + CAPTURED)(1.0), jax.make_jaxpr(jnp.sin)(1.0)
    with pytest.raises(TypeError, match=r"captures arrays(.|\n)*to fix"):
        odd.bind(1.0, body=captures)
    assert jax.make_jaxpr(lambda x: odd.bind(x, body=free))(1.0).eqns[0].params["body"] is free.jaxpr


def test_some_branches_may_be_closed_and_others_not():
    closed, free = (jax.make_jaxpr(f)(jnp.ones(3)) for f in (lambda x: x + jnp.array(CAPTURED), jnp.sin))
    for i, branches in enumerate([(closed, free.jaxpr), (free.jaxpr, closed)]):
        (out,) = jax.extend.primitive.cond.bind(jnp.int32(i), jnp.ones(3), branches=branches)
        np.testing.assert_array_equal(out, 1 + CAPTURED)
