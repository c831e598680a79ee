"""``jax.experimental.xla_metadata``: what ``rabbet.experimental.xla_metadata`` has, and the longer form."""

import functools

import rabbet as rb


def xla_metadata_call2(f=None, /, metadata=None, *, ad_metadata="same"):
    """``xla_metadata_call`` with the attributes as a dict.

    Args:
      f: the function; None makes a decorator.
      metadata: a dict of attributes.
      ad_metadata: ``"same"``: what differentiation derives from the call carries them, too. Other values are
        not offered.

    Raises:
      NotImplementedError: for another ``ad_metadata``.
    """
    if ad_metadata != "same" and ad_metadata != metadata:
        raise NotImplementedError(
            f"xla_metadata_call2: derivatives of a call carry its own attributes, got ad_metadata="
            f"{ad_metadata!r}\n  to fix: mark the derivative in a custom_vjp with set_xla_metadata"
        )
    if f is None:
        return functools.partial(xla_metadata_call2, metadata=metadata)
    return rb.experimental.xla_metadata.xla_metadata_call(f, **(metadata or {}))


__all__ = ["xla_metadata_call2"]
