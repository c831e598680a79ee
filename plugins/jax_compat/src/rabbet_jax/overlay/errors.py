"""``jax.errors``: what fails while a program runs is an error of Rabbet's."""

from rabbet.errors import RabbetError as JaxRuntimeError

__all__ = ["JaxRuntimeError"]
