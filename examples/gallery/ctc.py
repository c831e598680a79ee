"""Connectionist temporal classification: the loss by scan over a lattice, and what is read off at last."""

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

LOW = -1e5


def loss(logits, label):
    scores = rb.nn.log_softmax(logits)
    states = rnp.zeros(2 * len(label) + 1, int).at[1::2].set(label)  # 0 is the blank
    skip = rnp.concatenate([rnp.array([False, False]), (states[2:] != 0) & (states[2:] != states[:-2])])

    def step(alpha, score):
        one = rnp.concatenate([rnp.array([LOW]), alpha[:-1]])
        two = rnp.where(skip, rnp.concatenate([rnp.array([LOW, LOW]), alpha[:-2]]), LOW)
        return rnp.logaddexp(rnp.logaddexp(alpha, one), two) + score[states], None

    start = rnp.where(rnp.arange(len(states)) < 2, scores[0, states], LOW)
    alpha, _ = lax.scan(step, start, scores[1:])
    return -rnp.logaddexp(alpha[-1], alpha[-2])


def main():
    label = rnp.array([1, 2, 2, 3])
    logits = 0.1 * rb.random.normal(rb.random.key(0), (12, 4))
    step = rb.jit(lambda x: (x - 1.0 * rb.grad(loss)(x, label), loss(x, label)))
    first = float(loss(logits, label))
    for _ in range(60):
        logits, value = step(logits)
    best = [int(c) for c in rnp.argmax(logits, axis=1)]
    read = [c for c, before in zip(best, [0, *best]) if c and c != before]
    return {"loss before": first, "loss after": value, "read": rnp.array(read)}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
