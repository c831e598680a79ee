"""Programs and libraries written for JAX, on Rabbet, without a change. Not affiliated with JAX.

    python -m rabbet_jax train.py --steps 100      # a program, with its arguments

    import rabbet_jax                              # or as the first lines of it
    rabbet_jax.install()

From then on ``import jax`` and every ``jax.numpy``, ``jax.lax``, ... are modules that Rabbet serves. Whether
JAX is installed beside it makes no difference: it is never loaded. A name that Rabbet lacks raises when it is
called, not when it is imported; ``rabbet_jax.report()`` lists such names that a program has touched.

Where the environment variable ``RABBET_SERVES_JAX`` is ``1``, every Python process of the environment starts
with it installed; ``install(children=True)`` and ``--children`` set it for the processes that a program
starts.
"""

from rabbet_jax.finder import CHILDREN, install, installed
from rabbet_jax.jax_version import JAX_VERSION
from rabbet_jax.missing_names import report

__all__ = ["CHILDREN", "JAX_VERSION", "install", "installed", "report"]
