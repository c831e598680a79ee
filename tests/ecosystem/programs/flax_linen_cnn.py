"""flax.linen: convolution, batch norm with its state, pooling, and a training state with optax."""

import flax.linen as nn
import jax
import optax
from flax.training import train_state


class Network(nn.Module):
    @nn.compact
    def __call__(self, x, train=False):
        x = nn.Conv(8, (3, 3))(x)
        x = nn.relu(nn.BatchNorm(use_running_average=not train)(x))
        x = nn.avg_pool(x, (2, 2), (2, 2))
        return nn.Dense(10)(x.reshape(x.shape[0], -1))


key = jax.random.PRNGKey(0)
x = jax.random.normal(key, (4, 8, 8, 3))
network = Network()
variables = network.init(key, x)
out, updated = network.apply(variables, x, train=True, mutable=["batch_stats"])
state = train_state.TrainState.create(apply_fn=network.apply, params=variables["params"], tx=optax.sgd(0.1))


@jax.jit
def step(state):
    def loss_of(params):
        given = {"params": params, "batch_stats": variables["batch_stats"]}
        return (state.apply_fn(given, x) ** 2).mean()

    loss, grads = jax.value_and_grad(loss_of)(state.params)
    return state.apply_gradients(grads=grads), loss


for _ in range(5):
    state, loss = step(state)
print(float(out.sum()), float(updated["batch_stats"]["BatchNorm_0"]["mean"].sum()), float(loss))
