"""splines of one and two dimensions, and a derivative"""

# packages: interpax
import interpax
import jax
import jax.numpy as jnp

x = jnp.linspace(0, 3, 8)
f = lambda q: interpax.interp1d(q, x, jnp.sin(x), method="cubic2")
print(
    *map(float, f(jnp.array([0.3, 1.7]))),
    float(jax.grad(lambda q: f(q[None])[0])(jnp.array(1.1))),
    float(interpax.interp2d(jnp.array([0.5]), jnp.array([0.7]), x, x, jnp.outer(x, x), method="cubic")[0]),
    float(interpax.Akima1DInterpolator(x, jnp.cos(x))(1.3)),
)
