"""Legendre series and Gauss quadrature"""

# packages: orthax
import jax.numpy as jnp
import orthax

c = jnp.array([1.0, 2.0, 3.0])
x, w = orthax.legendre.leggauss(4)
print(
    *map(float, orthax.legendre.legval(jnp.array([0.1, 0.5]), c)),
    *map(float, x),
    *map(float, w),
    *map(float, orthax.chebyshev.chebder(c)),
)
