"""A training step of an LSTM: the cell under `lax.scan`, the gradient through time, gradient descent.

    python lstm.py rabbet|jax|torch [tiny]

Under torch it is `torch.nn.LSTM`, whose loop over time is compiled C++.
"""

import harness
import numpy as np

SIZES = {
    "full": {"time": 64, "batch": 32, "features": 64, "hidden": 128},
    "tiny": {"time": 3, "batch": 2, "features": 3, "hidden": 4},
}
RATE = 0.1


def data(time, batch, features, hidden):
    """Kernel, recurrent kernel, output layer; sequences [time, batch, features] and what to predict."""
    rng = np.random.default_rng(0)
    scaled = lambda m, n: rng.standard_normal((m, n), "f4") / np.float32(np.sqrt(m))
    weights = scaled(features, 4 * hidden), scaled(hidden, 4 * hidden), scaled(hidden, features)
    xs = rng.standard_normal((time, batch, features), "f4")
    return weights, xs, np.roll(xs, 1, 0)


def build(fw, **size):
    fnp, lax = fw.numpy, fw.lax
    weights, xs, targets = data(**size)
    xs, targets = fnp.asarray(xs), fnp.asarray(targets)

    def loss_fn(params):
        kernel, recurrent, readout = params

        def cell(state, x):
            c, h = state
            i, f, g, o = fnp.split(x @ kernel + h @ recurrent, 4, axis=-1)
            c = fw.nn.sigmoid(f) * c + fw.nn.sigmoid(i) * fnp.tanh(g)
            h = fw.nn.sigmoid(o) * fnp.tanh(c)
            return (c, h), h

        zero = fnp.zeros((xs.shape[1], recurrent.shape[0]), "float32")
        _, hs = lax.scan(cell, (zero, zero), xs)
        return fnp.mean((hs @ readout - targets) ** 2)

    def step(params):
        loss, grads = fw.value_and_grad(loss_fn)(params)
        return fw.tree.map(lambda p, g: p - RATE * g, params, grads), loss

    return step, tuple(fnp.asarray(w) for w in weights)


def build_torch(torch, **size):
    (kernel, recurrent, readout), xs, targets = data(**size)
    cell = torch.nn.LSTM(xs.shape[-1], recurrent.shape[0], bias=False)
    with torch.no_grad():
        cell.weight_ih_l0.copy_(torch.from_numpy(kernel.T.copy()))
        cell.weight_hh_l0.copy_(torch.from_numpy(recurrent.T.copy()))
    readout = torch.from_numpy(readout).requires_grad_()
    xs, targets = torch.from_numpy(xs), torch.from_numpy(targets)
    optimizer = torch.optim.SGD([*cell.parameters(), readout], lr=RATE)

    def step(state):
        optimizer.zero_grad()
        loss = ((cell(xs)[0] @ readout - targets) ** 2).mean()
        loss.backward()
        optimizer.step()
        return state, loss.detach()

    return step, None


BUILDERS = {"rabbet": build, "jax": build, "torch": build_torch}

if __name__ == "__main__":
    harness.main(BUILDERS, SIZES)
