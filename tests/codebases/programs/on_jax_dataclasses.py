"""dataclasses as trees, with static fields and copies to change"""

# packages: jax-dataclasses
import jax
import jax.numpy as jnp
import jax_dataclasses as jdc


@jdc.pytree_dataclass
class P:
    w: jax.Array
    n: jdc.Static[int]


p = P(jnp.arange(3.0), 2)
with jdc.copy_and_mutate(p) as q:
    q.w = q.w.at[0].set(5.0)
f = jdc.jit(lambda p: p.w.sum() * p.n)
print(float(f(p)), float(f(q)), *map(float, jax.grad(lambda p: f(p))(q).w))
