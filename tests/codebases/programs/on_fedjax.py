"""federated averaging on three clients"""

# packages: fedjax
import fedjax
import jax
import numpy as np

data = {b"%d" % i: {"x": np.full((4, 2), i, np.float32), "y": np.arange(4) % 2} for i in range(3)}
fd = fedjax.InMemoryFederatedData(data)
model = fedjax.create_model_from_stax if hasattr(fedjax, "create_model_from_stax") else None
tree = {"a": np.ones(3, np.float32)}
print(
    float(fedjax.tree_util.tree_l2_norm(tree)),
    fd.num_clients(),
    float(fedjax.tree_util.tree_weight(tree, 2.0)["a"][0]),
    float(jax.random.uniform(next(fedjax.PRNGSequence(0)))),
)
