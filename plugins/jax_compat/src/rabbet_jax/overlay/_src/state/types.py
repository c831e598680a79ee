"""``jax._src.state.types``: the type of a reference, which Flax asks `typeof` for."""

import rabbet as rb

ABSENT = "AbstractRef"  # without the package rabbet-ref

if hasattr(rb, "ref"):
    AbstractRef = rb.ref.AbstractRef
