"""K-FAC on a small regression"""

# packages: kfac-jax
import jax
import jax.numpy as jnp
import kfac_jax


def loss(params, batch):
    x, y = batch
    out = x @ params["w"] + params["b"]
    kfac_jax.register_squared_error_loss(out, y)
    return 0.5 * jnp.mean(jnp.sum((out - y) ** 2, -1))


x = jax.random.normal(jax.random.PRNGKey(0), (8, 3))
y = x @ jnp.ones((3, 1))
params = {"w": jnp.zeros((3, 1)), "b": jnp.zeros(1)}
opt = kfac_jax.Optimizer(
    jax.value_and_grad(loss),
    l2_reg=0.0,
    use_adaptive_learning_rate=True,
    use_adaptive_momentum=True,
    use_adaptive_damping=True,
    initial_damping=1.0,
)
state = opt.init(params, jax.random.PRNGKey(1), (x, y))
losses = []
for i in range(4):
    params, state, stats = opt.step(params, state, jax.random.PRNGKey(i), batch=(x, y))
    losses.append(float(stats["loss"]))
print(*losses)
