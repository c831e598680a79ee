"""distributions as modules"""

# packages: distreqx
import jax
import jax.numpy as jnp
from distreqx import bijectors, distributions

d = distributions.MultivariateNormalDiag(jnp.zeros(2), jnp.ones(2))
t = distributions.Transformed(distributions.Normal(jnp.array(0.0), jnp.array(1.0)), bijectors.Tanh())
x = t.sample(jax.random.key(0))
print(
    float(d.log_prob(jnp.ones(2))),
    float(x),
    float(t.log_prob(x)),
    float(distributions.Categorical(logits=jnp.arange(3.0)).entropy()),
)
