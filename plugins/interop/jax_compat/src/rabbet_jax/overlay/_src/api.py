"""``jax._src.api``: e3nn-jax asks first here for a function that later is in ``api_util``."""

from rabbet_jax.overlay._src.api_util import infer_argnums_and_argnames as _infer_argnums_and_argnames

__all__ = ["_infer_argnums_and_argnames"]
