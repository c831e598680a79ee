"""L-BFGS on Rosenbrock's function, by rabbet.scipy.optimize, under the name that JAX gives it."""

import rabbet.numpy as rnp
from rabbet.scipy import optimize


def rosenbrock(x):
    return rnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def main():
    start = rnp.array([-1.2, 1.0, 0.8])
    method = "l-bfgs-experimental-do-not-rely-on-this"
    found = optimize.minimize(rosenbrock, start, method=method)
    return {"start": rosenbrock(start), "minimum": rnp.round(found.x, 2), "success": found.fun < 1e-4}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
