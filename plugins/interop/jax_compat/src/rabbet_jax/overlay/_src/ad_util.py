"""``jax._src.ad_util``."""

from rabbet_jax.primitives import Primitive

stop_gradient_p = Primitive("jax.stop_gradient")  # no program has it: Rabbet's is a function with rules
