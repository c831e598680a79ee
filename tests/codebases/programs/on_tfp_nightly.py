"""the substrate for JAX: distributions, bijectors, a Hamiltonian chain"""

# packages: tfp-nightly[jax]
import jax
import jax.numpy as jnp
from tensorflow_probability.substrates import jax as tfp

tfd, tfb = tfp.distributions, tfp.bijectors
d = tfd.JointDistributionSequential([tfd.Normal(0.0, 1.0), lambda m: tfd.Gamma(2.0, jnp.exp(m))])
x = d.sample(3, seed=jax.random.PRNGKey(0))
flow = tfd.TransformedDistribution(tfd.Normal(0.0, 1.0), tfb.Chain([tfb.Softplus(), tfb.Shift(1.0)]))
kernel = tfp.mcmc.HamiltonianMonteCarlo(lambda x: -0.5 * x**2, step_size=0.3, num_leapfrog_steps=3)
chain = tfp.mcmc.sample_chain(20, 1.0, kernel=kernel, trace_fn=None, seed=jax.random.PRNGKey(1))
print(
    *map(float, d.log_prob(x)),
    float(flow.log_prob(1.7)),
    float(tfp.math.lbeta(2.0, 3.0)),
    *map(float, chain[:3]),
    float(tfd.VonMises(0.0, 2.0).entropy()),
)
