"""chex: a dataclass that is a tree, assertions, and a limit on traces."""

import chex
import jax
import jax.numpy as jnp


@chex.dataclass
class State:
    a: chex.Array
    b: float


state = State(a=jnp.ones(3), b=2.0)
chex.assert_shape(state.a, (3,))
doubled = jax.tree.map(lambda x: x * 2, state)
chex.assert_trees_all_close(doubled, State(a=jnp.full(3, 2.0), b=4.0))
chex.assert_tree_all_finite(state)


@jax.jit
@chex.assert_max_traces(n=1)
def add_one(x):
    return x + 1


add_one(jnp.ones(2))
add_one(jnp.ones(2))
refused = 0
try:
    chex.assert_rank(state.a, 2)
except AssertionError:
    refused = 1
print(float(jax.jit(lambda s: s.a.sum() * s.b)(state)), refused)
