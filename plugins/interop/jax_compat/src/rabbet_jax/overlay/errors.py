"""``jax.errors``: what fails while a program runs is an error of Rabbet's."""

from rabbet.errors import RabbetError as JaxRuntimeError

# Rabbet raises Python's own, which is what these are under JAX, too.
JAXIndexError, JAXTypeError = IndexError, TypeError

__all__ = ["JAXIndexError", "JAXTypeError", "JaxRuntimeError"]
