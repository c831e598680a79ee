"""a graph of variables and its log probability"""

# packages: liesel
import jax.numpy as jnp
import liesel.model as lsl
import tensorflow_probability.substrates.jax.distributions as tfd

loc = lsl.Var.new_param(0.5, name="loc")
y = lsl.Var.new_obs(jnp.array([1.0, 2.0]), lsl.Dist(tfd.Normal, loc=loc, scale=1.0), name="y")
model = lsl.Model([y])
before = float(model.log_prob)
model.vars["loc"].value = 1.5
print(before, float(model.log_prob))
