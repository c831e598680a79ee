"""``functools.partial`` of what takes a function, as a decorator, and methods: for type checkers."""

from functools import partial

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import Array
from rabbet.sharding import PartitionSpec as P


@partial(rb.vmap, in_axes=(None, 0))
def dots(w: Array, x: Array) -> Array:
    return rnp.dot(w, x)


@partial(rb.grad, argnums=1)
def slope(w: Array, x: Array) -> Array:
    return rnp.dot(w, x)


@partial(rb.value_and_grad, has_aux=True)
def with_aux(w: Array, x: Array) -> tuple[Array, Array]:
    return rnp.dot(w, x), x


@partial(rb.jacfwd, argnums=1)
def jacobian(w: Array, x: Array) -> Array:
    return w * x


@partial(rb.jacrev, argnums=(0, 1))
def jacobians(w: Array, x: Array) -> Array:
    return w * x


@partial(rb.hessian, argnums=1)
def curvature(w: Array, x: Array) -> Array:
    return rnp.dot(w * x, x)


@partial(rb.jit, static_argnames="n")
def power(x: Array, n: int) -> Array:
    return x**n


@partial(rb.checkpoint, static_argnums=1)
def scaled(x: Array, n: int) -> Array:
    return x * n


@partial(rb.shard_map, mesh=rb.make_mesh((1,), ("i",)), in_specs=(P("i"), P("i")), out_specs=P("i"))
def added(x: Array, y: Array) -> Array:
    return x + y


@rb.jit(static_argnames="n")
def root(x: Array, n: int) -> Array:
    return x ** (1 / n)


class Layer:
    @rb.jit
    def shifted(self, x: Array) -> Array:
        return x + 1

    @staticmethod
    @rb.jit
    def doubled(x: Array) -> Array:
        return x * 2

    @partial(rb.jit, static_argnums=0)
    def tripled(self, x: Array) -> Array:
        return x * 3


def main() -> None:
    x, rows = rnp.ones(3), rnp.ones((4, 3))
    layer = Layer()
    a: Array = dots(x, rows)
    b: Array = slope(x, x)
    value, gradient = with_aux(x, x)
    c: Array = power(x, n=2)
    d: Array = scaled(x, 2)
    e: Array = added(x, x)
    f: Array = root(x, n=2)
    g: Array = layer.tripled(x)
    h: Array = layer.doubled(x)
    size: int = power.cache_size()
    power.lower(x, n=3)
    layer.tripled.clear_cache()
    print(a, b, value, gradient, c, d, e, f, g, h, size, jacobian(x, x), jacobians(x, x), curvature(x, x))


if __name__ == "__main__":
    main()
