"""nnx: training with batch norm, modules scanned and vmapped, remat, split and merge; the bridge to linen"""

# packages: flax
import jax
import jax.numpy as jnp
import optax
from flax import linen as nn
from flax import nnx


class Model(nnx.Module):
    def __init__(self, rngs):
        self.a = nnx.Linear(4, 8, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.drop = nnx.Dropout(0.1, rngs=rngs)
        self.b = nnx.Linear(8, 1, rngs=rngs)

    def __call__(self, x):
        return self.b(self.drop(nnx.relu(self.norm(self.a(x)))))


model = Model(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(1e-2), wrt=nnx.Param)
x = jax.random.normal(jax.random.key(1), (16, 4))
y = x.sum(1, keepdims=True)


@nnx.jit
def step(model, optimizer):
    loss, grads = nnx.value_and_grad(lambda m: jnp.mean((m(x) - y) ** 2))(model)
    optimizer.update(model, grads)
    return loss


for _ in range(10):
    loss = step(model, optimizer)


@nnx.split_rngs(splits=3)
@nnx.vmap
def layers(rngs):
    return nnx.Linear(4, 4, rngs=rngs)


@nnx.scan
def through(x, layer):
    return jnp.tanh(layer(x)), None


out, _ = through(x, layers(nnx.Rngs(3)))
grads = nnx.grad(lambda m: nnx.remat(lambda m, x: m(x).sum())(m, x))(model)
graph, state = nnx.split(model)
again = nnx.merge(graph, state)
wrapped = nnx.bridge.ToNNX(nn.Dense(3), rngs=nnx.Rngs(0)).lazy_init(x)
print(
    float(loss),
    float(out.sum()),
    float(grads.a.kernel[...].sum()),
    float(again(x).std()),
    float(wrapped(x).sum()),
)
