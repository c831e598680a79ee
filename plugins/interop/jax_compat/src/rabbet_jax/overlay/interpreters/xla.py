"""``jax.interpreters.xla``."""

import numpy as np

ABSENT = "Backend"


def apply_primitive(primitive, *args, **params):
    """The result of a primitive, computed now."""
    return primitive.bind(*args, **params)


# By type: what becomes of a value before it is an argument. Libraries add their own types, which Rabbet knows
# by ``__array__`` or ``__jax_array__``.
canonicalize_dtype_handlers = {np.ndarray: np.asarray}
