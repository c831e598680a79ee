"""reshapes by an expression"""

# packages: einshape
import jax.numpy as jnp
from einshape import jax_einshape

x = jnp.arange(24.0).reshape(4, 6)
print(*map(float, jax_einshape("(ab)c->bac", x, a=2)[1, 0, :3]), float(jax_einshape("ab->ba", x)[2, 1]))
