"""Special functions for ``rabbet.lax``: the families of the gamma, beta and Bessel functions, and zeta.

``rabbet.lax`` finds them here when one of their names is first used.
"""

from rabbet_special.bessel import bessel_i0e, bessel_i1e
from rabbet_special.gamma import digamma, lgamma, polygamma, zeta
from rabbet_special.incomplete_beta import incomplete_beta_complement as betaincc
from rabbet_special.incomplete_beta import regularized_incomplete_beta as betainc
from rabbet_special.incomplete_gamma import igamma, igamma_grad_a, igammac, random_gamma_grad

__all__ = [
    "bessel_i0e", "bessel_i1e", "betainc", "betaincc", "digamma", "igamma", "igamma_grad_a", "igammac",
    "lgamma", "polygamma", "random_gamma_grad", "zeta",
]  # fmt: skip
