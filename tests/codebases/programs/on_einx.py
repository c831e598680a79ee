"""named operations"""

# packages: einx
import einx
import jax.numpy as jnp

x = jnp.arange(24.0).reshape(2, 3, 4)
print(
    float(einx.sum("a [b] c", x)[1, 2]),
    float(einx.mean("[a] b c", x)[1, 2]),
    float(einx.dot("a b c, a d c -> b d", x, x)[1, 2]),
    float(einx.id("a b c -> (a c) b", x)[3, 1]),
)
