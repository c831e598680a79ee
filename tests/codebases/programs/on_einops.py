"""rearrange, reduce, repeat and einsum under jit"""

# packages: einops
import jax
import jax.numpy as jnp
from einops import einsum, rearrange, reduce, repeat

x = jnp.arange(24.0).reshape(2, 3, 4)
f = jax.jit(
    lambda x: (
        rearrange(x, "a b c -> c (a b)"),
        reduce(x, "a b c -> a c", "max"),
        repeat(x, "a b c -> a (r b) c", r=2),
        einsum(x, x, "a b c, a d c -> b d"),
    )
)
print(*(float((o * jnp.arange(o.shape[1])[None, :, *[None] * (o.ndim - 2)]).sum()) for o in f(x)))
