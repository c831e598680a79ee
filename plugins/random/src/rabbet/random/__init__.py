"""Random numbers from explicit keys.

A key is made once from a seed, and every call that draws takes a key: the same key gives the same numbers,
eagerly, compiled or mapped, on every backend. Use a key once; ``split`` it, or ``fold_in`` a number, to get
others::

    key = random.key(0)
    first, second = random.split(key)
    x = random.normal(first, (3,))

The bits are those of Threefry-2x32 at counters 0, 1, 2, ... and what is made of them are the field's
formulas, so the numbers are those that other implementations give for the same key.
"""

from rabbet.extend.functions import public_module as _public_module
from rabbet.random.continuous import (
    bits, cauchy, exponential, gumbel, laplace, logistic, lognormal, maxwell, normal, pareto, rayleigh,
    triangular, truncated_normal, uniform, weibull_min,
)  # fmt: skip
from rabbet.random.discrete import bernoulli, categorical, geometric, rademacher, randint
from rabbet.random.keys import (
    PRNGKey, clone, fold_in, key, key_data, key_dtype, key_impl, split, wrap_key_data,
)  # fmt: skip
from rabbet.random.ordering import choice, permutation

__all__ = [
    "PRNGKey", "bernoulli", "bits", "categorical", "cauchy", "choice", "clone", "exponential", "fold_in",
    "geometric", "gumbel", "key", "key_data", "key_dtype", "key_impl", "laplace", "logistic", "lognormal",
    "maxwell", "normal", "pareto", "permutation", "rademacher", "randint", "rayleigh", "split", "triangular",
    "truncated_normal", "uniform", "weibull_min", "wrap_key_data",
]  # fmt: skip


def __getattr__(name):
    raise AttributeError(f"rabbet.random has no {name!r} (yet); it has {', '.join(__all__)}")


_public_module(globals())
