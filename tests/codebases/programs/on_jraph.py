"""a graph network on a padded batch, and a segment softmax"""

# packages: jraph
import jax
import jax.numpy as jnp
import jraph
import numpy as np

g = jraph.GraphsTuple(
    nodes=np.arange(8.0, dtype=np.float32).reshape(4, 2),
    edges=np.ones((3, 1), np.float32),
    senders=np.array([0, 1, 2]),
    receivers=np.array([1, 2, 3]),
    n_node=np.array([4]),
    n_edge=np.array([3]),
    globals=np.zeros((1, 1), np.float32),
)
batch = jraph.pad_with_graphs(jraph.batch([g, g]), 10, 8, 3)
net = jraph.GraphNetwork(
    update_edge_fn=lambda e, s, r, u: jnp.concatenate([e, s * r], 1),
    update_node_fn=lambda n, s, r, u: n + r[:, 1:] * s[:, :1],
    update_global_fn=lambda n, e, u: n.sum(1, keepdims=True) + u,
)
out = jax.jit(net)(batch)
print(
    float(out.nodes.sum()),
    float(out.edges.sum()),
    *map(float, out.globals[:, 0]),
    float(jraph.segment_softmax(out.edges[:, 0], batch.receivers, 10).sum()),
)
