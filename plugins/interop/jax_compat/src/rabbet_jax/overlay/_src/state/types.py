"""``jax._src.state.types``: the type of a reference, which Flax asks `typeof` for."""

import rabbet as rb

AbstractRef = rb.ref.AbstractRef

__all__ = ["AbstractRef"]
