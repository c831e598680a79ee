"""jraph: a graph network that learns which nodes have an odd number of neighbours; batches and padding."""

import haiku as hk
import jax
import jax.numpy as jnp
import jraph
import numpy as np
import optax


def ring(n, chord):
    """A ring of n nodes with one chord, both directions of each edge."""
    ends = [(i, (i + 1) % n) for i in range(n)] + [(0, chord)]
    senders, receivers = (np.array(x) for x in zip(*ends, *[(b, a) for a, b in ends], strict=True))
    degree = np.bincount(receivers, minlength=n)
    nodes = {"x": np.ones((n, 4), np.float32), "odd": (degree % 2).astype(np.float32)}
    return jraph.GraphsTuple(
        nodes=nodes, edges=np.ones((len(senders), 1), np.float32), senders=senders, receivers=receivers,
        n_node=np.array([n]), n_edge=np.array([len(senders)]), globals=np.zeros((1, 1), np.float32),
    )  # fmt: skip


batch = jraph.batch([ring(5, 2), ring(7, 3)])
batch = jraph.pad_with_graphs(batch, 16, 32, 3)
odd, mask = batch.nodes["odd"], jraph.get_node_padding_mask(batch)
graph = batch._replace(nodes=batch.nodes["x"])


def network(graph):
    def update_node(nodes, sent, received, globals_):
        return hk.nets.MLP([16, 8])(jnp.concatenate([nodes, received], 1))

    def update_edge(edges, sent, received, globals_):
        return hk.nets.MLP([16, 8])(jnp.concatenate([edges, sent, received], 1))

    for _ in range(2):
        graph = jraph.GraphNetwork(update_edge, update_node)(graph)
    pooled = jraph.segment_softmax(graph.edges[:, 0], graph.receivers, 16)
    return hk.Linear(1)(graph.nodes)[:, 0], pooled


net = hk.without_apply_rng(hk.transform(network))
params = net.init(jax.random.PRNGKey(0), graph)
optimizer = optax.adam(1e-2)
state = optimizer.init(params)


def loss(params):
    logits, _ = net.apply(params, graph)
    return jnp.sum(mask * optax.sigmoid_binary_cross_entropy(logits, odd)) / mask.sum()


@jax.jit
def step(params, state):
    value, grads = jax.value_and_grad(loss)(params)
    updates, state = optimizer.update(grads, state)
    return optax.apply_updates(params, updates), state, value


for _ in range(60):
    params, state, value = step(params, state)
logits, pooled = net.apply(params, graph)
print(float(value), *map(float, logits[:4]), *map(float, pooled[:6]))
