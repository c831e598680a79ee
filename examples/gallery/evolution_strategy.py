"""An evolution strategy: a function without a derivative, from values at drawn places alone."""

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax


def rough(x):
    return rnp.sum(rnp.floor(10 * rnp.abs(x - 1.0)), axis=-1) / 10


@rb.jit
def evolve(key):
    def step(mean, key):
        draws = rb.random.normal(key, (64, mean.size))
        values = rough(mean + 0.2 * draws)
        ranks = rnp.argsort(rnp.argsort(values)) / 63 - 0.5
        return mean - 0.5 * ranks @ draws / 64, rough(mean)

    return lax.scan(step, rnp.zeros(6), rb.random.split(key, 120))


def main():
    best, values = evolve(rb.random.key(0))
    return {"value before": values[0], "value after": values[-1], "largest error": rnp.max(rnp.abs(best - 1))}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
