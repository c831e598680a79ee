"""distributions, mixtures, a flow of bijectors and its log probability"""

# packages: distrax
import distrax
import jax
import jax.numpy as jnp

key = jax.random.PRNGKey(0)
normal = distrax.MultivariateNormalDiag(jnp.zeros(2), jnp.array([1.0, 2.0]))
mixture = distrax.MixtureSameFamily(
    distrax.Categorical(logits=jnp.zeros(2)), distrax.Normal(jnp.array([-1.0, 1.0]), jnp.array([0.5, 1.0]))
)
flow = distrax.Transformed(
    normal, distrax.Block(distrax.Chain([distrax.ScalarAffine(1.0, 2.0), distrax.Tanh()]), 1)
)
x, logp = flow.sample_and_log_prob(seed=key, sample_shape=(3,))
print(
    *map(float, logp),
    float(x.sum()),
    float(mixture.log_prob(0.3)),
    float(distrax.Gamma(2.0, 3.0).kl_divergence(distrax.Gamma(1.0, 1.0))),
    float(jax.grad(lambda a: distrax.Beta(a, 2.0).log_prob(0.4))(1.5)),
)
