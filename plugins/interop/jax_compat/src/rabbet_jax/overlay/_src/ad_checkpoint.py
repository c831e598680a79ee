"""``jax._src.ad_checkpoint``: what libraries read there."""

import rabbet as rb

from rabbet_jax.overlay import ad_checkpoint

checkpoint, remat = ad_checkpoint.checkpoint, ad_checkpoint.remat


def saved_residuals(f, *args, **kwargs):
    """The types that the backward pass keeps, and where they come from."""
    return rb.ad_checkpoint.saved_residuals(f, *args, **kwargs)


def __getattr__(name):
    if name in ("checkpoint_name", "checkpoint_policies", "print_saved_residuals"):
        return getattr(rb.ad_checkpoint, name)
    raise AttributeError(name)
