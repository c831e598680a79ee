"""named arrays, a network of penzai and its variables"""

# packages: penzai
import jax
import jax.numpy as jnp
from penzai import pz

net = pz.nn.Sequential(
    [
        pz.nn.Linear.from_config(
            "a", init_base_rng=jax.random.key(0), input_axes={"f": 3}, output_axes={"f": 4}
        ),
        pz.nn.Elementwise(jnp.tanh),
        pz.nn.Linear.from_config(
            "b", init_base_rng=jax.random.key(1), input_axes={"f": 4}, output_axes={"f": 2}
        ),
    ]
)
x = pz.nx.wrap(jnp.arange(6.0).reshape(2, 3)).tag("batch", "f")
y = net(x)
stateless, params = pz.unbind_params(net, freeze=True)
print(
    *map(float, y.unwrap("batch", "f").ravel()),
    len(params),
    float(pz.nx.nmap(jnp.sum)(x.untag("f")).unwrap("batch")[1]),
)
