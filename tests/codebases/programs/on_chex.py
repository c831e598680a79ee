"""a dataclass, assertions, variants"""

# packages: chex
import chex
import jax
import jax.numpy as jnp


@chex.dataclass
class State:
    x: jax.Array
    n: int


s = State(x=jnp.arange(3.0), n=2)
t = jax.tree.map(lambda v: v * 2, s)
chex.assert_shape(t.x, (3,))
chex.assert_trees_all_close(t.x, jnp.array([0.0, 2.0, 4.0]))
chex.assert_rank([t.x], [1])
count = 0


@jax.jit
@chex.assert_max_traces(n=1)
def f(x):
    return x.sum()


total = f(t.x) + f(t.x + 1)
try:
    chex.assert_tree_all_finite({"a": jnp.array([jnp.nan])})
except AssertionError:
    count += 1
print(float(total), int(t.n), count)
