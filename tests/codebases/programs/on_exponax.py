"""Burgers' equation rolled out, and a gradient through it"""

# packages: exponax
import exponax as ex
import jax
import jax.numpy as jnp

stepper = ex.stepper.Burgers(1, 3.0, 24, 0.1, diffusivity=0.1)
u = ex.ic.RandomTruncatedFourierSeries(1, cutoff=3)(24, key=jax.random.PRNGKey(0))
out = ex.rollout(stepper, 4, include_init=True)(u)
print(
    *map(float, jnp.abs(out).sum((1, 2))),
    float(jnp.abs(jax.grad(lambda u: (stepper(u) ** 2).sum())(u)).sum()),
)
