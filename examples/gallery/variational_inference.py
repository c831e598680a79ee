"""Variational inference: a normal distribution is fitted to a posterior by reparametrized gradients."""

import rabbet as rb
import rabbet.numpy as rnp
from rabbet.scipy import stats

SEEN = rnp.array([1.2, 0.8, 1.9, 1.4, 1.1])


def posterior(mean):
    return stats.norm.logpdf(mean, 0.0, 2.0) + rnp.sum(stats.norm.logpdf(SEEN, mean, 0.5))


def bound(params, key):
    mean, log_scale = params
    draws = mean + rnp.exp(log_scale) * rb.random.normal(key, (64,))
    return -rnp.mean(rb.vmap(posterior)(draws)) - log_scale


@rb.jit
def step(params, key):
    return params - 0.02 * rb.grad(bound)(params, key)


def main():
    params = rnp.zeros(2)
    for key in rb.random.split(rb.random.key(0), 200):
        params = step(params, key)
    precision = 1 / 4 + len(SEEN) / 0.25
    exact = rnp.array([rnp.sum(SEEN) / 0.25 / precision, precision**-0.5])
    return {"mean and scale": rnp.array([params[0], rnp.exp(params[1])]), "exact": exact}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
