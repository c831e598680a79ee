"""flax.nnx: modules with state, dropout and an optimizer, under nnx.jit."""

import jax
import optax
from flax import nnx


class Network(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 8, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)
        self.second = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.second(self.dropout(nnx.relu(self.first(x))))


network = Network(nnx.Rngs(0))
optimizer = nnx.Optimizer(network, optax.adam(1e-2), wrt=nnx.Param)
x = jax.random.normal(jax.random.key(0), (16, 3))
y = x.sum(1, keepdims=True)


@nnx.jit
def step(network, optimizer):
    loss, grads = nnx.value_and_grad(lambda m: ((m(x) - y) ** 2).mean())(network)
    optimizer.update(network, grads)
    return loss


for _ in range(20):
    loss = step(network, optimizer)
print(float(loss))
