"""a hidden Markov model's filter and a Kalman smoother"""

# packages: dynamax
import jax
import jax.numpy as jnp
from dynamax.hidden_markov_model import GaussianHMM
from dynamax.linear_gaussian_ssm import LinearGaussianSSM

hmm = GaussianHMM(2, 1)
params, props = hmm.initialize(jax.random.PRNGKey(0))
x = jnp.concatenate([jnp.zeros((5, 1)), jnp.ones((5, 1)) * 3])
params, lls = hmm.fit_em(params, props, x, num_iters=3, verbose=False)
lgssm = LinearGaussianSSM(2, 1)
p2, _ = lgssm.initialize(jax.random.PRNGKey(1))
print(
    *map(float, lls), float(lgssm.marginal_log_prob(p2, x)), float(lgssm.smoother(p2, x).smoothed_means.sum())
)
