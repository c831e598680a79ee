"""linear operators: a solve and a log determinant"""

# packages: cola-ml
import cola
import jax.numpy as jnp

a = cola.PSD(cola.ops.Dense(jnp.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]])))
b = cola.ops.Kronecker(a, cola.ops.Diagonal(jnp.array([1.0, 2.0])))
print(*map(float, cola.inv(a) @ jnp.ones(3)), float(cola.logdet(a)), *map(float, (b @ jnp.ones(6))))
