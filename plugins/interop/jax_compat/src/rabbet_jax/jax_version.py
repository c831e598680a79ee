"""The version of JAX that ``jax.__version__`` says: the one by which an installer has chosen the libraries.

A library says which releases of jax it works with, and pip chooses its release by the jax that is installed.
So that release is told. Where jax is not there, it is the one of the same number as jaxlib: they are made
together, and it is what pip would bring.
"""

import importlib.metadata
import re


def _told():
    try:
        return importlib.metadata.version("jax")
    except importlib.metadata.PackageNotFoundError:
        return importlib.metadata.version("jaxlib")


def numbers(version):
    """The numbers of a version: ``"0.12.0.dev3"`` is ``(0, 12, 0)``.

    Example:
      >>> from rabbet_jax.jax_version import numbers
      >>> numbers("0.12.0.1"), numbers("0.12.1.dev20260101")
      ((0, 12, 0, 1), (0, 12, 1))
    """
    found = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, found[0].split("."))) if found else ()


JAX_VERSION = _told()
