"""a masked autoregressive flow, fitted for a few steps"""

# packages: flowjax
import jax
import jax.numpy as jnp
from flowjax.bijections import RationalQuadraticSpline
from flowjax.distributions import Normal
from flowjax.flows import coupling_flow

flow = coupling_flow(
    jax.random.key(0),
    base_dist=Normal(jnp.zeros(2)),
    flow_layers=2,
    transformer=RationalQuadraticSpline(knots=4, interval=3),
)
x = jax.random.normal(jax.random.key(1), (5, 2))
print(*map(float, flow.log_prob(x)), *map(float, flow.sample(jax.random.key(2), (2,)).ravel()))
