"""A hidden Markov model: the forward algorithm, smoothed states as its gradient, Viterbi's path."""

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax

STAY = rnp.log(rnp.array([[0.9, 0.1], [0.2, 0.8]]))
EMIT = rnp.log(rnp.array([[0.8, 0.1, 0.1], [0.1, 0.3, 0.6]]))


def evidence(scores):
    def step(alpha, score):
        return rb.nn.logsumexp(alpha[:, None] + STAY, axis=0) + score, None

    alpha, _ = lax.scan(step, scores[0] - rnp.log(2.0), scores[1:])
    return rb.nn.logsumexp(alpha)


def viterbi(scores):
    def step(best, score):
        ways = best[:, None] + STAY
        return rnp.max(ways, axis=0) + score, rnp.argmax(ways, axis=0)

    last, back = lax.scan(step, scores[0] - rnp.log(2.0), scores[1:])
    end = rnp.argmax(last)
    first, path = lax.scan(lambda state, ways: (ways[state], state), end, back, reverse=True)
    return rnp.concatenate([first[None], path])


def main():
    seen = rnp.array([0, 0, 1, 0, 2, 2, 1, 2, 2, 0, 0, 0])
    scores = EMIT[:, seen].T
    value, smoothed = rb.jit(rb.value_and_grad(evidence))(scores)
    return {"log evidence": value, "P(state 1)": smoothed[:, 1], "best path": rb.jit(viterbi)(scores)}


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name:24}", value)
