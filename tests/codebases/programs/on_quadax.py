"""adaptive quadrature and its derivative"""

# packages: quadax
import jax
import jax.numpy as jnp
import quadax

f = lambda a: quadax.quadgk(
    lambda t, a: jnp.exp(-a * t**2), jnp.array([0.0, 2.0]), args=(a,), epsabs=1e-4, epsrel=1e-4
)[0]
print(float(f(1.0)), float(jax.grad(f)(1.0)), float(quadax.simpson(jnp.arange(5.0) ** 2, x=jnp.arange(5.0))))
