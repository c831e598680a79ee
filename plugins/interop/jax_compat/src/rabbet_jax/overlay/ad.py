"""``jax.ad``: what ``jax.vjp(f, *x)[1].with_refs`` is asked for."""

from rabbet_autodiff.with_refs import DidntWant, DontWant, GradRef, GradValue

__all__ = ["DidntWant", "DontWant", "GradRef", "GradValue"]
