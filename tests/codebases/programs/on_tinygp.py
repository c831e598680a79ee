"""the likelihood of a Gaussian process, its gradient, predictions, a quasiseparable kernel"""

# packages: tinygp
import jax
import jax.numpy as jnp
from tinygp import GaussianProcess, kernels

x = jnp.linspace(0, 3, 12)
y = jnp.sin(x)


def nll(p):
    return -GaussianProcess(jnp.exp(p[0]) * kernels.Matern52(jnp.exp(p[1])), x, diag=0.05).log_probability(y)


p = jnp.array([0.1, 0.2])
cond = GaussianProcess(kernels.ExpSquared(1.0), x, diag=0.05).condition(y, jnp.array([0.5, 1.5])).gp
q = GaussianProcess(kernels.quasisep.Matern32(scale=1.0), x, diag=0.05).log_probability(y)
print(
    float(nll(p)), *map(float, jax.grad(nll)(p)), *map(float, cond.mean), *map(float, cond.variance), float(q)
)
