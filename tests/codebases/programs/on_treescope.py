"""a tree with arrays shown as text and HTML"""

# packages: treescope
import jax.numpy as jnp
import treescope

text = treescope.render_to_text({"w": jnp.arange(4.0), "n": (1, None)})
html = treescope.render_array(jnp.arange(6.0).reshape(2, 3))
print(int("float32" in text or "f32" in text), int("jax" in text or "Array" in text), int(html is not None))
