"""``jax.interpreters.xla``."""

import numpy as np

ABSENT = "Backend apply_primitive"
# By type: what becomes of a value before it is an argument. Libraries add their own types, which Rabbet knows
# by ``__array__`` or ``__jax_array__``.
canonicalize_dtype_handlers = {np.ndarray: np.asarray}
