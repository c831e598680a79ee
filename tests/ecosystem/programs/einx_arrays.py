"""einx: operations on named axes, by JAX's arrays."""

import einx
import jax
import jax.numpy as jnp

x = jnp.arange(24.0).reshape(2, 3, 4)
found = [
    einx.sum("a [b] c", x),
    einx.dot("a b c, c d -> a b d", x, jnp.ones((4, 5))),
    jax.jit(lambda x: einx.softmax("a b [c]", x))(x),
    einx.get_at("[h] c, b -> b c", x[0], jnp.array([0, 2])),
    jax.grad(lambda x: einx.mean("a [b c]", x**2).sum())(x),
]
print(*[float(y.sum()) for y in found])
