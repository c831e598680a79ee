"""Gaussian process regression: the kernel's parameters by gradient descent on the marginal likelihood."""

import rabbet as rb
import rabbet.numpy as rnp
import rabbet.scipy.linalg as linalg


def kernel(params, a, b):
    scale, width = rnp.exp(params["scale"]), rnp.exp(params["width"])
    return scale * rnp.exp(-((a[:, None] - b[None, :]) ** 2) / (2 * width**2))


def loss(params, x, y):
    covariance = kernel(params, x, x) + rnp.exp(params["noise"]) * rnp.eye(len(x))
    factor = linalg.cholesky(covariance, lower=True)
    solved = linalg.solve_triangular(factor, y, lower=True)
    return 0.5 * rnp.sum(solved**2) + rnp.sum(rnp.log(rnp.diag(factor)))


@rb.jit
def step(params, x, y):
    value, slope = rb.value_and_grad(loss)(params, x, y)
    return rb.tree.map(lambda p, g: p - 0.02 * g, params, slope), value


def main():
    x = rnp.linspace(0.0, 5.0, 20)
    y = rnp.sin(2 * x) + 0.1 * rb.random.normal(rb.random.key(0), x.shape)
    params = {"scale": 0.0, "width": 0.0, "noise": -1.0}
    first = float(loss(params, x, y))
    for _ in range(100):
        params, value = step(params, x, y)
    new = rnp.array([1.1, 2.6, 4.3])
    inverse = rnp.linalg.solve(kernel(params, x, x) + rnp.exp(params["noise"]) * rnp.eye(20), y)
    mean = kernel(params, new, x) @ inverse
    return {
        "loss before": first,
        "loss after": value,
        "mean at 1.1, 2.6, 4.3": mean,
        "truth": rnp.sin(2 * new),
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
