"""A particle filter: weights by likelihood, resampling by choice, in one scan."""

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax


@rb.jit
def track(key, seen, count=400):
    def step(particles, given):
        key, y = given
        key_move, key_draw = rb.random.split(key)
        particles = particles + rb.random.normal(key_move, particles.shape)
        weights = rb.nn.softmax(-0.5 * (y - particles) ** 2 / 0.5)
        particles = rb.random.choice(key_draw, particles, (count,), p=weights)
        return particles, rnp.mean(particles)

    return lax.scan(step, rnp.zeros(count), (rb.random.split(key, len(seen)), seen))[1]


def main():
    path = rnp.cumsum(rb.random.normal(rb.random.key(0), (30,)))
    seen = path + 0.7 * rb.random.normal(rb.random.key(1), (30,))
    found = track(rb.random.key(2), seen)
    error = lambda x: rnp.sqrt(rnp.mean((x - path) ** 2))
    return {"error seen": error(seen), "error tracked": error(found)}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
