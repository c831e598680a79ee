"""shapes checked at run time, in a jitted function too"""

# ruff: noqa: F722
# packages: jaxtyping beartype
import jax
import jax.numpy as jnp
from beartype import beartype
from jaxtyping import Array, Float, Int, PyTree, jaxtyped


@jaxtyped(typechecker=beartype)
def f(x: Float[Array, "b n"], y: Int[Array, " n"]) -> Float[Array, " b"]:
    return (x * y).sum(1)


wrong = 0
try:
    f(jnp.ones((2, 3)), jnp.arange(4))
except Exception:
    wrong = 1
print(
    *map(float, jax.jit(f)(jnp.ones((2, 3)), jnp.arange(3))),
    wrong,
    int(isinstance([jnp.ones(2)], PyTree[Float[Array, "2"]])),
)
