"""named axes: products, softmax, scan over layers, a mesh with an axis mapping"""

# packages: haliax
import equinox as eqx
import haliax as hax
import haliax.nn as hnn
import jax
import jax.numpy as jnp
import numpy as np

Batch, In, Out = hax.make_axes(batch=4, inn=3, out=2)
x = hax.random.normal(jax.random.PRNGKey(0), (Batch, In))
layer = hnn.Linear.init(In, Out, key=jax.random.PRNGKey(1))
y = hnn.softmax(layer(x), Out)
grads = eqx.filter_grad(lambda m: m(x).sum().scalar())(layer)
mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("data",))
with mesh, hax.axis_mapping({"batch": "data"}):
    sharded = hax.shard(x)
    total = hax.named_jit(lambda x: hax.sum(x * 2))(sharded)
Layers = hax.Axis("layers", 3)
rolled = hax.fold(lambda c, w: c * w, Layers)(hax.ones(In), hax.arange(Layers).astype(jnp.float32) + 1)
print(
    float(y.array[:, 0].sum()),
    float(grads.weight.array.sum()),
    float(total.array),
    float(rolled.array.sum()),
    float(hax.mean(hax.roll(x, 1, In), Batch).array[0]),
)
