"""Programs that jax exports are called here, and those exported here are called by jax."""

import collections
import pathlib
import subprocess
import sys

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import export

Pair = collections.namedtuple("Pair", ["a", "b"])
jax.export.register_namedtuple_serialization(Pair, serialized_name="parity.Pair")
export.register_namedtuple_serialization(Pair, serialized_name="parity.Pair")

X = np.linspace(-1, 1, 6, dtype="f4").reshape(2, 3)


def leaves(tree):
    return [np.asarray(x) for x in jax.tree.leaves(tree)]


def mixed(np_, x, n, p):
    return {"a": np_.sin(x) @ x.T, "p": Pair(p.b, [None, n + 1])}, np_.argmax(x)


def looped(np_, x):
    lax = jax.lax if np_ is jnp else rb.lax
    return lax.fori_loop(0, 3, lambda i, c: np_.tanh(c) * x + i, x), lax.top_k(x, 2)[0]


def factored(np_, x):
    a = x @ x.T + np_.eye(2)
    return np_.linalg.cholesky(a), np_.linalg.eigh(a)[0], np_.linalg.solve(a, x)


PROGRAMS = [
    (mixed, (X, np.int32(4), Pair(X, X + 1))),
    (looped, (X,)),
    (factored, (X,)),
    (lambda np_, x: np_.sort(np_.concatenate([x, x[::-1]]), axis=0)[1:, ::2], (X,)),
    (lambda np_, x: (np_.fft.fft(x).real, np_.cumsum(x, 1), x.at[0].set(0)), (X,)),
]


def loss(tree):
    return sum((x * x).sum() for x in tree if np.dtype(x.dtype).kind == "f")


# For several platforms one program; at night all.
ON = [
    pytest.param(*case, platforms, marks=[pytest.mark.exhaustive] if i and len(platforms) > 1 else [])
    for platforms in (("cpu",), ("cpu", "tpu"))
    for i, case in enumerate(PROGRAMS)
]


@pytest.mark.parametrize("program, args, platforms", ON, ids=lambda p: getattr(p, "__name__", ""))
def test_each_calls_what_the_other_wrote(program, args, platforms):
    ours = export.export(rb.jit(lambda *a: program(rnp, *a)), platforms=platforms)(*args)
    theirs = jax.export.export(jax.jit(lambda *a: program(jnp, *a)), platforms=platforms)(*args)
    there = jax.export.deserialize(ours.serialize(vjp_order=1))
    here = export.deserialize(theirs.serialize(vjp_order=1))
    wanted = theirs.call(*args)
    for found in (there.call(*args), here.call(*args), jax.jit(there.call)(*args), rb.jit(here.call)(*args)):
        for a, b in zip(leaves(found), leaves(wanted), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    slope = jax.grad(lambda x: loss(jax.tree.leaves(theirs.call(x, *args[1:]))))(X)
    other = jax.grad(lambda x: loss(jax.tree.leaves(there.call(x, *args[1:]))))(X)
    mine = rb.grad(lambda x: loss(rb.tree.leaves(here.call(x, *args[1:]))))(X)
    np.testing.assert_allclose(other, slope, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(mine, slope, rtol=1e-4, atol=1e-4)


def test_typed_keys_travel():
    ours = export.export(rb.jit(lambda k: rb.random.normal(k, (3,))))(rb.random.key(0))
    theirs = jax.export.export(jax.jit(lambda k: jax.random.normal(k, (3,))))(jax.random.key(0))
    wanted = np.asarray(jax.random.normal(jax.random.key(7), (3,)))
    found = jax.export.deserialize(ours.serialize()).call(jax.random.key(7))
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    found = export.deserialize(theirs.serialize()).call(rb.random.key(7))
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_the_same_attributes():
    f = lambda x, y: {"a": x + y}
    ours = export.export(rb.jit(f))(X, X)
    theirs = jax.export.export(jax.jit(f))(X, X)
    again = jax.export.deserialize(ours.serialize())
    for name in ("fun_name", "platforms", "nr_devices", "module_kept_var_idx", "calling_convention_version",
                 "uses_global_constants", "ordered_effects", "in_shardings_hlo"):  # fmt: skip
        assert getattr(ours, name) == getattr(theirs, name) == getattr(again, name), name
    assert str(again.in_tree) == str(theirs.in_tree) and str(again.out_avals) == str(theirs.out_avals)


def test_each_calls_what_the_other_wrote_for_several_devices():
    program = pathlib.Path(__file__).with_name("over_devices.py")
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout.startswith("the same")


# Symbolic shapes ----------------------------------------------------------------------------------

POLYMORPHIC = [
    (lambda np_, x: (np_.sin(x) @ x.T, x.sum(0) / x.shape[0]), ["a, b"], [(2, 3), (5, 1)]),
    (lambda np_, x: x.reshape(x.shape[0] // 2, 2, -1).mean(1), ["2*a, b"], [(4, 3), (2, 2)]),
    (lambda np_, x, y: np_.concatenate([x, y])[1:], ["a, 3", "b, 3"], [(2, 3), (4, 3)]),
    (lambda np_, x: np_.arange(x.shape[0]) + np_.cumsum(x), ["a + 1"], [(4,), (2,)]),
]


@pytest.mark.parametrize("program, specs, shapes", POLYMORPHIC)
def test_symbolic_programs_travel(program, specs, shapes):
    mine, other = export.SymbolicScope(), jax.export.SymbolicScope()
    ours = export.export(rb.jit(lambda *a: program(rnp, *a)))(
        *[rb.ShapeDtypeStruct(export.symbolic_shape(s, scope=mine), "float32") for s in specs]
    )
    theirs = jax.export.export(jax.jit(lambda *a: program(jnp, *a)))(
        *[jax.ShapeDtypeStruct(jax.export.symbolic_shape(s, scope=other), "float32") for s in specs]
    )
    there = jax.export.deserialize(ours.serialize(vjp_order=1))
    here = export.deserialize(theirs.serialize(vjp_order=1))
    assert [str(a.shape) for a in there.out_avals] == [str(a.shape) for a in theirs.out_avals]
    assert [str(a.shape) for a in here.out_avals] == [str(a.shape) for a in ours.out_avals]
    calls = [shapes] if len(specs) > 1 else [[shape] for shape in shapes]
    for call in calls:
        args = [np.linspace(-1, 1, int(np.prod(s)), dtype="f4").reshape(s) for s in call]
        wanted = leaves(theirs.call(*args))
        for found in (there.call(*args), here.call(*args)):
            for a, b in zip(leaves(found), wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    slope = jax.grad(lambda x: loss(jax.tree.leaves(theirs.call(x, *args[1:]))))(args[0])
    found = rb.grad(lambda x: loss(rb.tree.leaves(here.call(x, *args[1:]))))(args[0])
    np.testing.assert_allclose(found, slope, rtol=1e-4, atol=1e-5)
    found = jax.grad(lambda x: loss(jax.tree.leaves(there.call(x, *args[1:]))))(args[0])
    np.testing.assert_allclose(found, slope, rtol=1e-4, atol=1e-5)


def test_jax_checks_the_shapes_of_our_programs():
    (a,) = export.symbolic_shape("2*a", constraints=["a >= 2"])
    ours = export.export(rb.jit(lambda x: x + 1))(rb.ShapeDtypeStruct((a,), "float32"))
    there = jax.export.deserialize(ours.serialize())
    assert there.call(np.zeros(4, "f4")).tolist() == [1] * 4
    with pytest.raises(ValueError, match="Division had remainder 1 when computing the value of 'a'"):
        there.call(np.zeros(5, "f4"))
    with pytest.raises(ValueError, match="refining shapes"):  # jax says no more of a constraint
        there.call(np.zeros(2, "f4"))


def test_expressions_are_read_and_decided_alike():
    texts = "a + b; a*b - 3; 2*a; floordiv(a + 1, 2); mod(b, 3); max(a, 3); min(a, b); a^2 - a".split("; ")
    ours = export.symbolic_shape(", ".join(texts))
    theirs = jax.export.symbolic_shape(", ".join(texts))
    assert [str(d) for d in ours] == [str(d) for d in theirs]
    for x, y in zip(ours, theirs, strict=True):
        mine, other = export.symbolic_dim_bounds(x), jax.export.symbolic_dim_bounds(y)
        assert mine[0] >= other[0] and mine[1] <= other[1], x
