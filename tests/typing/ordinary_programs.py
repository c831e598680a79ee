"""Thirty ordinary programs, for pyright in strict mode; run as a script, they check their results."""

import dataclasses
import functools
import os
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import Array, lax, random
from rabbet.experimental import checkify, sparse
from rabbet.sharding import PartitionSpec as P

PROGRAMS: list[Callable[[], bool]] = []


def program(function: Callable[[], bool]) -> Callable[[], bool]:
    PROGRAMS.append(function)
    return function


@program
def arrays() -> bool:
    x = rnp.arange(6.0).reshape(2, 3)
    return x.T.shape == (3, 2) and float(x[1, 2]) == 5.0 and float(x.at[0, 0].set(7.0).max()) == 7.0


@program
def gradient_descent() -> bool:
    def loss(w: Array) -> Array:
        return rnp.sum((w - 3.0) ** 2)

    w = rnp.zeros(2)
    for _ in range(50):
        w = w - 0.1 * rb.grad(loss)(w)
    return bool(rnp.allclose(w, 3.0, atol=1e-3))


@program
def linear_regression() -> bool:
    x = random.normal(random.key(0), (32, 3))
    y = x @ rnp.array([1.0, -2.0, 0.5])

    @rb.jit
    def step(w: Array) -> Array:
        return w - 0.1 * rb.grad(lambda w: rnp.mean((x @ w - y) ** 2))(w)

    w = rnp.zeros(3)
    for _ in range(100):
        w = step(w)
    return bool(rnp.allclose(w, rnp.array([1.0, -2.0, 0.5]), atol=1e-2))


class Params(NamedTuple):
    w: Array
    b: Array


@program
def classes_as_parameters() -> bool:
    def predict(params: Params, x: Array) -> Array:
        return rb.nn.relu(x @ params.w + params.b)

    params = Params(rnp.ones((3, 2)), rnp.zeros(2))
    gradient = rb.grad(lambda p: predict(p, rnp.ones((1, 3))).sum())(params)
    moved = rb.tree.map(lambda p, g: p - 0.1 * g, params, gradient)
    return len(rb.tree.leaves(moved)) == 2


@program
def classifier() -> bool:
    def loss(w: Array, x: Array, labels: Array) -> Array:
        chosen = rb.nn.one_hot(labels, 3) * rb.nn.log_softmax(x @ w)
        return -chosen.sum(axis=-1).mean()

    value, gradient = rb.value_and_grad(loss)(rnp.zeros((4, 3)), rnp.ones((5, 4)), rnp.arange(5) % 3)
    return bool(rnp.isfinite(value)) and gradient.shape == (4, 3)


@program
def a_static_argument() -> bool:
    @functools.partial(rb.jit, static_argnames="n")
    def power(x: Array, n: int) -> Array:
        for _ in range(n):
            x = x * 2
        return x

    return float(power(rnp.float32(1), 3)) == 8.0 and power.cache_size() == 1


@program
def per_example_gradients() -> bool:
    def loss(w: Array, x: Array) -> Array:
        return rnp.dot(w, x) ** 2

    return rb.vmap(rb.grad(loss), in_axes=(None, 0))(rnp.ones(3), rnp.ones((5, 3))).shape == (5, 3)


@program
def jacobians() -> bool:
    f: Callable[[Array], Array] = lambda x: rnp.sin(x) * x
    x = rnp.arange(3.0)
    return bool(rnp.allclose(rb.jacfwd(f)(x), rb.jacrev(f)(x), atol=1e-5)) and rb.hessian(f)(x).ndim == 3


@program
def a_recurrence() -> bool:
    def step(h: Array, x: Array) -> tuple[Array, Array]:
        h = rnp.tanh(h + x)
        return h, h

    last, hidden = lax.scan(step, rnp.zeros(2), rnp.ones((4, 2)))
    return bool((last == hidden[-1]).all())


@program
def branches() -> bool:
    def f(x: Array) -> Array:
        return lax.cond(x > 0, lambda v: v * 2, lambda v: -v, x)

    return float(rb.jit(f)(rnp.float32(-3))) == 3.0


@program
def a_loop_until() -> bool:
    return int(lax.while_loop(lambda n: n < 100, lambda n: n * 2, rnp.int32(3))) == 192


@program
def a_counted_loop() -> bool:
    return float(lax.fori_loop(0, 5, lambda i, total: total + i, rnp.float32(0))) == 10.0


@program
def random_walk() -> bool:
    key = random.key(0)
    key, other = random.split(key)
    steps = random.choice(other, rnp.array([-1, 1]), (10,))
    return rnp.cumsum(steps).shape == (10,)


@program
def monte_carlo() -> bool:
    points = random.uniform(random.key(1), (10_000, 2))
    inside = (rnp.sum(points**2, axis=1) < 1).mean()
    return abs(4 * float(inside) - np.pi) < 0.1


@program
def linear_algebra() -> bool:
    a = rnp.array([[2.0, 1.0], [1.0, 3.0]])
    values, vectors = rnp.linalg.eigh(a)
    return bool(rnp.allclose(vectors @ rnp.diag(values) @ vectors.T, a, atol=1e-5))


@program
def least_squares() -> bool:
    solution = rnp.linalg.solve(rnp.eye(3) * 2, rnp.ones(3))
    return bool(rnp.allclose(solution, 0.5))


@program
def einsum() -> bool:
    return rnp.einsum("bij,bjk->bik", rnp.ones((2, 3, 4)), rnp.ones((2, 4, 5))).shape == (2, 3, 5)


@program
def attention() -> bool:
    q = k = v = rnp.ones((4, 8))
    weights = rb.nn.softmax(q @ k.T / rnp.sqrt(8.0), axis=-1)
    return (weights @ v).shape == (4, 8)


@program
def a_convolution() -> bool:
    out = lax.conv_general_dilated(rnp.ones((1, 1, 8, 8)), rnp.ones((2, 1, 3, 3)), (1, 1), "SAME")
    return out.shape == (1, 2, 8, 8)


@program
def a_derivative_of_ones_own() -> bool:
    @rb.custom_vjp
    def clipped(x: Array) -> Array:
        return x

    def forward(x: Array) -> tuple[Array, None]:
        return x, None

    def backward(residual: None, g: Array) -> tuple[Array]:
        return (rnp.clip(g, -1, 1),)

    clipped.defvjp(forward, backward)
    return float(rb.grad(lambda x: clipped(x) * 5)(rnp.float32(2))) == 1.0


@program
def memory_for_time() -> bool:
    @functools.partial(rb.checkpoint, static_argnums=1)
    def layer(x: Array, factor: int) -> Array:
        return rnp.sin(x) * factor

    return rb.grad(lambda x: layer(x, 2).sum())(rnp.ones(3)).shape == (3,)


@program
def results_beside_the_loss() -> bool:
    def loss(w: Array) -> tuple[Array, dict[str, Array]]:
        return (w**2).sum(), {"norm": rnp.linalg.norm(w)}

    (value, seen), gradient = rb.value_and_grad(loss, has_aux=True)(rnp.ones(4))
    return float(value) == 4.0 and float(seen["norm"]) == 2.0 and gradient.shape == (4,)


@program
def several_devices() -> bool:
    mesh = rb.make_mesh((1,), ("i",))

    @functools.partial(rb.shard_map, mesh=mesh, in_specs=P("i"), out_specs=P())
    def total(x: Array) -> Array:
        return lax.psum(x.sum(), "i")

    return float(total(rnp.ones(4))) == 4.0


@program
def checks_within_programs() -> bool:
    def root(x: Array) -> Array:
        checkify.check(x >= 0, "negative: {}", x)
        return rnp.sqrt(x)

    error, _ = checkify.checkify(root)(rnp.float32(-1))
    return "negative" in str(error.get())


@program
def sparse_products() -> bool:
    matrix = sparse.BCOO.fromdense(rnp.eye(3))
    return bool(rnp.allclose(matrix @ rnp.ones(3), 1.0))


@rb.tree_util.register_dataclass
@dataclasses.dataclass
class State:
    step: Any
    weights: Array


@program
def a_dataclass_of_state() -> bool:
    state = State(step=rnp.int32(0), weights=rnp.ones(2))
    state = dataclasses.replace(state, step=state.step + 1)
    return len(rb.tree.leaves(state)) == 2


@program
def a_saved_array() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "x.npy")
        rnp.save(file, rnp.arange(3))
        return bool((rnp.load(file) == rnp.arange(3)).all())


@program
def numpy_beside() -> bool:
    table = np.arange(5)

    @rb.jit
    def looked_up(i: Array) -> Array:
        return rnp.asarray(table)[i]

    return int(looked_up(rnp.int32(2))) == 2 and np.asarray(rnp.ones(2)).sum() == 2


@program
def what_was_compiled() -> bool:
    @rb.jit
    def f(x: Array) -> Array:
        return x * 2

    f(rnp.ones(3))
    return "mul" in str(rb.make_jaxpr(f)(rnp.ones(3))) and f.cache_size() >= 1


@program
def statistics() -> bool:
    x = rnp.array([1.0, 2.0, 3.0, 4.0])
    return float(rnp.mean(x)) == 2.5 and float(rnp.median(x)) == 2.5 and float(rnp.var(x)) == 1.25


if __name__ == "__main__":
    failed = [one.__name__ for one in PROGRAMS if not one()]
    if failed or len(PROGRAMS) != 30:
        raise SystemExit(f"{len(PROGRAMS)} programs, wrong: {failed}")
