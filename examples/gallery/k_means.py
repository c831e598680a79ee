"""k-means: distances by broadcasting, means by segment_sum, until nothing changes (while_loop)."""

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax


def nearest(points, centres):
    return rnp.argmin(rnp.sum((points[:, None] - centres[None]) ** 2, axis=-1), axis=1)


@rb.jit
def cluster(points, centres):
    def update(state):
        _, centres, rounds = state
        which = nearest(points, centres)
        sums = rb.ops.segment_sum(points, which, len(centres))
        counts = rb.ops.segment_sum(rnp.ones(len(points)), which, len(centres))
        return centres, sums / counts[:, None], rounds + 1

    start = centres + 1.0, centres, 0
    return lax.while_loop(lambda s: rnp.any(s[0] != s[1]), update, start)[1:]


def main():
    middles = rnp.array([[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])
    noise = rb.random.normal(rb.random.key(0), (90, 2))
    points = rnp.repeat(middles, 30, axis=0) + noise
    centres, rounds = cluster(points, points[::30])
    return {"centres": centres, "rounds": rounds}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
