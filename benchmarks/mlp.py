"""A training step of a multilayer perceptron: softmax cross-entropy, gradient descent with momentum.

    python mlp.py rabbet|jax|torch|torch_compile|numpy [tiny]

The NumPy version has its derivatives by hand, as one would write them there.
"""

import itertools

import harness
import numpy as np

SIZES = {"full": {"batch": 256, "widths": (784, 512, 512, 10)}, "tiny": {"batch": 8, "widths": (6, 8, 3)}}
RATE, MOMENTUM = 0.05, 0.9


def data(batch, widths):
    """Weights and biases, inputs and labels: the same numbers for every framework."""
    rng = np.random.default_rng(0)
    weights = [
        rng.standard_normal((m, n), "f4") / np.float32(np.sqrt(m)) for m, n in itertools.pairwise(widths)
    ]
    biases = [np.zeros(n, "f4") for n in widths[1:]]
    return weights, biases, rng.standard_normal((batch, widths[0]), "f4"), rng.integers(0, widths[-1], batch)


def build(fw, **size):
    fnp = fw.numpy
    weights, biases, inputs, labels = data(**size)
    inputs, labels = fnp.asarray(inputs), fnp.asarray(labels.astype("i4"))

    def loss_fn(params):
        x = inputs
        for w, b in params[:-1]:
            x = fw.nn.relu(x @ w + b)
        w, b = params[-1]
        logp = fw.nn.log_softmax(x @ w + b)
        return -fnp.mean(fnp.take_along_axis(logp, labels[:, None], axis=-1))

    def step(state):
        params, velocity = state
        loss, grads = fw.value_and_grad(loss_fn)(params)
        velocity = fw.tree.map(lambda v, g: MOMENTUM * v + g, velocity, grads)
        return (fw.tree.map(lambda p, v: p - RATE * v, params, velocity), velocity), loss

    params = [(fnp.asarray(w), fnp.asarray(b)) for w, b in zip(weights, biases)]
    return step, (params, fw.tree.map(fnp.zeros_like, params))


def build_torch(torch, **size):
    weights, biases, inputs, labels = data(**size)
    params = [torch.from_numpy(p).requires_grad_() for pair in zip(weights, biases) for p in pair]
    inputs, labels = torch.from_numpy(inputs), torch.from_numpy(labels)
    optimizer = torch.optim.SGD(params, lr=RATE, momentum=MOMENTUM)

    @torch.compiled
    def loss_fn(params):
        x = inputs
        for w, b in zip(params[:-2:2], params[1:-2:2]):
            x = torch.relu(torch.addmm(b, x, w))
        return torch.nn.functional.cross_entropy(torch.addmm(params[-1], x, params[-2]), labels)

    def step(params):
        optimizer.zero_grad()
        loss = loss_fn(params)
        loss.backward()
        optimizer.step()
        return params, loss.detach()

    return step, params


def build_numpy(numpy, **size):
    weights, biases, inputs, labels = data(**size)
    velocity = [(numpy.zeros_like(w), numpy.zeros_like(b)) for w, b in zip(weights, biases)]
    rows = numpy.arange(len(labels))

    def step(state):
        params, velocity = state
        seen = [inputs]
        for w, b in params[:-1]:
            seen.append(numpy.maximum(seen[-1] @ w + b, 0))
        logits = seen[-1] @ params[-1][0] + params[-1][1]
        logits = logits - logits.max(-1, keepdims=True)
        logp = logits - numpy.log(numpy.exp(logits).sum(-1, keepdims=True))
        cotangent = numpy.exp(logp)
        cotangent[rows, labels] -= 1
        cotangent /= len(labels)
        grads = []
        for (w, _), x in zip(reversed(params), reversed(seen)):
            grads.append((x.T @ cotangent, cotangent.sum(0)))
            cotangent = (cotangent @ w.T) * (x > 0)
        velocity = [
            (MOMENTUM * vw + gw, MOMENTUM * vb + gb) for (vw, vb), (gw, gb) in zip(velocity, reversed(grads))
        ]
        params = [(w - RATE * vw, b - RATE * vb) for (w, b), (vw, vb) in zip(params, velocity)]
        return (params, velocity), -logp[rows, labels].mean()

    return step, (list(zip(weights, biases)), velocity)


BUILDERS = {"rabbet": build, "jax": build, "torch": build_torch, "numpy": build_numpy}

if __name__ == "__main__":
    harness.main(BUILDERS, SIZES)
