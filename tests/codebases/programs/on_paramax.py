"""parameters with constraints"""

# packages: paramax equinox
import equinox as eqx
import jax
import jax.numpy as jnp
import paramax

tree = {"s": paramax.Parameterize(jax.nn.softplus, jnp.array(0.5)), "w": paramax.non_trainable(jnp.ones(2))}
g = eqx.filter_grad(lambda t: paramax.unwrap(t)["s"] * paramax.unwrap(t)["w"].sum())(tree)
print(float(paramax.unwrap(tree)["s"]), float(jax.tree.leaves(g)[0]), float(jnp.sum(jax.tree.leaves(g)[-1])))
