"""``jax.experimental.sparse.util``: the names of ``jax.experimental.sparse``."""

from rabbet_jax.overlay.experimental.sparse import of_sparse


def __getattr__(name):
    return of_sparse(name)
