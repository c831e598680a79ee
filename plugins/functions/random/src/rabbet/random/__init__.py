"""Random numbers from explicit keys.

A key is made once from a seed, and every call that draws takes a key: the same key gives the same numbers,
eagerly, compiled or mapped, on every backend. Use a key once; ``split`` it, or ``fold_in`` a number, to get
others::

    key = random.key(0)
    first, second = random.split(key)
    x = random.normal(first, (3,))

The bits are those of Threefry-2x32 at counters 0, 1, 2, ... and what is made of them are JAX's
formulas, so the numbers are those that other implementations give for the same key.
"""

from rabbet.extend.functions import public_module as _public_module
from rabbet.random.continuous import (
    bits, cauchy, exponential, gumbel, laplace, logistic, lognormal, maxwell, normal, pareto, rayleigh,
    triangular, truncated_normal, uniform, weibull_min,
)  # fmt: skip
from rabbet.random.count_distributions import binomial, multinomial, poisson
from rabbet.random.discrete import bernoulli, categorical, geometric, rademacher, randint
from rabbet.random.gamma_family import (
    ball, beta, chisquare, dirichlet, f, gamma, generalized_normal, loggamma, t,
)  # fmt: skip
from rabbet.random.generators import Generator
from rabbet.random.keys import (
    Key, PRNGKey, clone, fold_in, key, key_data, key_dtype, key_impl, split, wrap_key_data,
)  # fmt: skip
from rabbet.random.permutations import choice, permutation
from rabbet.random.multivariate import double_sided_maxwell, multivariate_normal, orthogonal, wald

__all__ = [
    "Generator", "Key", "PRNGKey", "ball", "bernoulli", "beta", "binomial", "bits", "categorical", "cauchy",
    "chisquare", "choice", "clone", "dirichlet", "double_sided_maxwell", "exponential", "f", "fold_in",
    "gamma", "generalized_normal", "geometric", "gumbel", "key", "key_data", "key_dtype", "key_impl",
    "laplace", "loggamma", "logistic", "lognormal", "maxwell", "multinomial", "multivariate_normal",
    "normal", "orthogonal", "pareto", "permutation", "poisson", "rademacher", "randint", "rayleigh",
    "split", "t", "triangular", "truncated_normal", "uniform", "wald", "weibull_min", "wrap_key_data",
]  # fmt: skip


def __getattr__(name):
    known = {"rand": "uniform", "randn": "normal", "random": "uniform", "shuffle": "permutation"}
    way = f"; here it is {known[name]}, whose first argument is a key: key(seed)" if name in known else ""
    raise AttributeError(f"rabbet.random has no {name!r} (yet){way}; it has {', '.join(__all__)}")


_public_module(globals())
