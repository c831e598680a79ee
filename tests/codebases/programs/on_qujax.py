"""a circuit's expectation and its gradient"""

# packages: qujax
import jax
import jax.numpy as jnp
import qujax

f = qujax.get_params_to_statetensor_func(["H", "Rz", "CX", "Ry"], [[0], [0], [0, 1], [1]], [[], [0], [], [1]])
e = qujax.get_statetensor_to_expectation_func([["Z", "X"]], [[0, 1]], [1.0])
g = lambda p: e(f(p))
p = jnp.array([0.3, 0.2])
print(float(g(p)), *map(float, jax.grad(g)(p)), float(jnp.abs(f(p) ** 2).sum()))
