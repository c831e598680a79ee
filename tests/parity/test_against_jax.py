"""The same programs under jax and under rabbet, in one process: values, dtypes and weakness must agree.

Integers agree bit for bit, floats within a few units in the last place (the two frameworks may lower one
function differently). Texts of small programs agree too, for the printed form is JAX's.
"""

import json
import pathlib
import subprocess
import sys

import jax
import jax.numpy
import numpy as np
import pytest
import rabbet as rb
import rabbet.nn
import rabbet.numpy
import rabbet.random

ROOT = pathlib.Path(__file__).resolve().parents[2]
FRAMEWORKS = {"rabbet": (rb, rabbet.numpy), "jax": (jax, jax.numpy)}
X = np.random.RandomState(0).randn(4, 3).astype("f4")
Y = np.random.RandomState(1).randn(3, 5).astype("f4")


def smooth(fnp):
    return lambda x: fnp.sum(fnp.tanh(x) * fnp.exp(-x * x) + fnp.log1p(x * x))


NUMERIC = {
    "add weak": lambda fw, fnp: fnp.asarray(X) + 1.5,
    "int times float": lambda fw, fnp: fnp.arange(3) * 0.5,
    "true division of integers": lambda fw, fnp: fnp.arange(1, 4) / 2,
    "floor division and remainder": lambda fw, fnp: (fnp.arange(-3, 4) // 2, fnp.arange(-3, 4) % 3),
    "power": lambda fw, fnp: (fnp.asarray(X) ** 2, fnp.arange(4) ** 3),
    "matmul": lambda fw, fnp: fnp.asarray(X) @ fnp.asarray(Y),
    "einsum": lambda fw, fnp: fnp.einsum("ij,jk->ki", X, Y),
    "mean and var": lambda fw, fnp: (fnp.mean(X, axis=0), fnp.var(X, axis=1, keepdims=True)),
    "where": lambda fw, fnp: fnp.where(X > 0, X, 0.0),
    "take_along_axis": lambda fw, fnp: fnp.take_along_axis(
        fnp.asarray(X), fnp.array([[0], [2], [1], [0]]), axis=1
    ),
    "index": lambda fw, fnp: (
        fnp.asarray(X)[1:, ::-1],
        fnp.asarray(X)[fnp.array([0, 2])],
        fnp.asarray(X)[-1],
    ),
    "at": lambda fw, fnp: fnp.asarray(X).at[fnp.array([0, 0]), 1].add(2.0),
    "softmax": lambda fw, fnp: (
        fw.nn.softmax(X, axis=-1),
        fw.nn.log_softmax(X),
        fw.nn.gelu(X),
        fw.nn.relu(X),
    ),
    "sum of int8": lambda fw, fnp: fnp.sum(fnp.ones(300, "int8")),
    "grad": lambda fw, fnp: fw.grad(smooth(fnp))(X),
    "grad of grad": lambda fw, fnp: fw.grad(fw.grad(smooth(fnp)))(0.7),
    "jvp": lambda fw, fnp: fw.jvp(smooth(fnp), (X,), (X,)),
    "hessian": lambda fw, fnp: fw.hessian(smooth(fnp))(X[0]),
    "jacrev": lambda fw, fnp: fw.jacrev(lambda x: fnp.sin(x) @ Y)(X),
    "vmap of grad": lambda fw, fnp: fw.vmap(fw.grad(smooth(fnp)))(X),
    "jit of vmap of grad": lambda fw, fnp: fw.jit(fw.vmap(fw.grad(smooth(fnp))))(X),
}

RANDOM = {
    "bits": lambda fw: fw.random.bits(fw.random.key(7), (11,)),
    "split": lambda fw: fw.random.key_data(fw.random.split(fw.random.key(3), 5)),
    "fold_in": lambda fw: fw.random.key_data(fw.random.fold_in(fw.random.key(3), 12)),
    "randint": lambda fw: fw.random.randint(fw.random.key(1), (50,), -5, 17),
    "permutation": lambda fw: fw.random.permutation(fw.random.key(2), 31),
    "bernoulli": lambda fw: fw.random.bernoulli(fw.random.key(4), 0.3, (40,)),
    "categorical": lambda fw: fw.random.categorical(
        fw.random.key(5), np.log(np.float32([0.1, 0.6, 0.3])), shape=(20,)
    ),
    "choice": lambda fw: fw.random.choice(fw.random.key(6), 12, (4,), replace=False),
    "uniform": lambda fw: fw.random.uniform(fw.random.key(8), (33,)),
    "normal": lambda fw: fw.random.normal(fw.random.key(9), (3, 7)),
}

PRINTED = {
    "two equations": (lambda u, v: (u + v) ** 2, (1, 2)),
    "weak scalar": (lambda x: x * 2.0 + 1, (X,)),
}


def leaves(tree):
    return tree if isinstance(tree, (tuple, list)) else (tree,)


@pytest.mark.parametrize("name", NUMERIC)
def test_numbers_and_types_agree(name):
    ours, theirs = (leaves(NUMERIC[name](*FRAMEWORKS[framework])) for framework in ("rabbet", "jax"))
    for a, b in zip(ours, theirs, strict=True):
        assert (a.shape, str(a.dtype), bool(a.weak_type)) == (b.shape, str(b.dtype), bool(b.weak_type))
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize("name", RANDOM)
def test_random_numbers_agree(name):
    ours, theirs = (np.asarray(RANDOM[name](fw)) for fw in (rb, jax))
    assert ours.dtype == theirs.dtype
    if ours.dtype.kind == "f":
        np.testing.assert_array_max_ulp(ours, theirs, maxulp=2)
    else:
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", PRINTED)
def test_small_programs_print_alike(name):
    fn, args = PRINTED[name]
    assert str(rb.make_jaxpr(fn)(*args)) == str(jax.make_jaxpr(fn)(*args))


def test_the_transformer_learns_alike():
    def losses(framework):
        command = [sys.executable, str(ROOT / "benchmarks" / "gpt_step.py"), framework, "2", "1"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1])["losses"]

    np.testing.assert_allclose(losses("rabbet"), losses("jax"), rtol=1e-4)
