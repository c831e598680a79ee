"""quantised weights and a product of 8 bits"""

# packages: qwix flax
import jax
import jax.numpy as jnp
import qwix
from flax import linen as nn

x = jax.random.normal(jax.random.key(0), (4, 16))
net = nn.Dense(8)
params = net.init(jax.random.key(1), x)
rules = [qwix.QuantizationRule(module_path=".*", weight_qtype=jnp.int8, act_qtype=jnp.int8)]
quantized = qwix.quantize_model(net, qwix.QtProvider(rules))
out = quantized.apply(params, x)
grads = jax.grad(lambda p: quantized.apply(p, x).sum())(params)
print(float(out.sum()), float(jnp.abs(out).sum()), float(grads["params"]["kernel"].sum()))
