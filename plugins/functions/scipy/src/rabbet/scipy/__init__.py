"""SciPy's functions on Rabbet arrays: ``jax.scipy``.

Each module is imported when it is first named, so ``import rabbet.scipy`` costs nothing.
"""

import importlib

MODULES = (
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
)


def __getattr__(name):
    if name in MODULES:
        return importlib.import_module(f"rabbet.scipy.{name}")
    raise AttributeError(
        f"module 'rabbet.scipy' has no attribute {name!r}; its modules are {', '.join(MODULES)}"
    )


def __dir__():
    return list(__all__)


__all__ = list(MODULES)
