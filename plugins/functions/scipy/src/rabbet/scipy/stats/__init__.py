"""SciPy's distributions and functions of samples on Rabbet arrays: ``jax.scipy.stats``.

A distribution is a module of functions, ``norm.pdf(x, loc, scale)``; SciPy's frozen ones, ``norm(loc,
scale)``, are not there. All functions promote dtypes and broadcast, and are differentiable by every real
parameter. Parameters that no distribution has give NaN, values outside the support probability 0, as in
SciPy. How exact they are: docs/scipy.md."""

import importlib

FUNCTIONS = {"gaussian_kde": "kde", "mode": "samples", "rankdata": "samples", "sem": "samples"}


__all__ = [
    "bernoulli",
    "beta",
    "betabinom",
    "binom",
    "cauchy",
    "chi2",
    "dirichlet",
    "expon",
    "gamma",
    "gaussian_kde",
    "gennorm",
    "geom",
    "gumbel_l",
    "gumbel_r",
    "laplace",
    "logistic",
    "mode",
    "multinomial",
    "multivariate_normal",
    "nbinom",
    "norm",
    "pareto",
    "poisson",
    "rankdata",
    "sem",
    "t",
    "truncnorm",
    "uniform",
    "vonmises",
    "wrapcauchy",
]
DISTRIBUTIONS = [name for name in __all__ if name not in FUNCTIONS]


def __getattr__(name):
    """A distribution's module, imported now; or a function."""
    if name in FUNCTIONS:
        module = importlib.import_module(f"rabbet.scipy.stats.{FUNCTIONS[name]}")
        globals()[name] = getattr(module, name)
        return globals()[name]
    if name in DISTRIBUTIONS:
        return importlib.import_module(f"rabbet.scipy.stats.{name}")
    raise AttributeError(
        f"module 'rabbet.scipy.stats' has no attribute {name!r}; it has the distributions "
        f"{', '.join(DISTRIBUTIONS)}, and {', '.join(FUNCTIONS)}"
    )


def __dir__():
    return list(__all__)
