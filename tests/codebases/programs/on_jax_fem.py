"""its elements' shape functions"""

# packages: jax-fem
from jax_fem.basis import get_shape_vals_and_grads

v, g, w = get_shape_vals_and_grads("QUAD4")
print(float(v.sum()), float(abs(g).sum()), float(w.sum()))
