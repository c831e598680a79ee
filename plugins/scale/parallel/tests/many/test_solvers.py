"""Solvers within ``shard_map``: what all devices share they solve to the same."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.errors import ShardingError
from rabbet.sharding import PartitionSpec as P

pytestmark = pytest.mark.library

pytest.importorskip("rabbet_jit")
pytest.importorskip("rabbet_autodiff")
rnp = pytest.importorskip("rabbet.numpy")
pytest.importorskip("rabbet.lax.linalg")

MESH = rb.make_mesh((4, 2), ("x", "y"))
A = np.eye(3, dtype="f4") * 2 + 0.1


def shared(f):
    return rb.shard_map(f, mesh=MESH, in_specs=P(), out_specs=P())


def solved_by(solve):
    def f(a):
        return lax.custom_linear_solve(lambda x: a @ x, a[0], lambda _, b: solve(a, b), lambda _, b: b)

    return f


SOLVERS = {
    "solve": lambda a: rnp.linalg.solve(a, a[0]),
    "inv": rnp.linalg.inv,
    "tensorsolve": lambda a: rnp.linalg.tensorsolve(a, a[0]),
    "custom": solved_by(rnp.linalg.solve),
    "custom, of a mean": solved_by(lambda a, b: rnp.linalg.solve(lax.pmean(a, "x"), b)),
    "gradient": rb.grad(lambda a: rnp.linalg.solve(a, 2 * a[0]).sum()),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_what_is_shared_is_solved_to_the_same(name):
    f = shared(SOLVERS[name])
    alone = rb.vmap(SOLVERS[name], axis_name="x", axis_size=1, in_axes=None, out_axes=0)(A)[0]
    for way in (f, rb.jit(f)):
        np.testing.assert_allclose(way(A), alone, rtol=1e-5, atol=1e-5)


def test_a_solver_that_differs_between_devices_is_refused():
    with pytest.raises(ShardingError, match="may differ between devices along 'x'"):
        shared(solved_by(lambda a, b: rnp.linalg.solve(a, b) + lax.axis_index("x")))(A)


X = np.arange(4, dtype="f4")
DERIVATIVES = [rb.grad, lambda f: rb.jit(rb.grad(f)), lambda f: lambda x: rb.vjp(f, x)[1](1.0)[0]]


@pytest.mark.parametrize("derivative", DERIVATIVES)
def test_derivatives_beside_a_python_number(derivative):
    f = rb.shard_map(lambda x, y: x * y, mesh=MESH, in_specs=(P("x"), P()), out_specs=P("x"))
    np.testing.assert_array_equal(derivative(lambda x: f(x, 2.0).sum())(X), [2] * 4)
