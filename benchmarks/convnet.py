"""A training step of a small convolutional network: two convolutions, two poolings, a dense layer.

    python convnet.py rabbet|jax|torch|torch_compile [tiny]

Images stand with channels last under rabbet and jax, and with channels first under torch, as is usual there.
"""

import itertools

import harness
import numpy as np

SIZES = {
    "full": {"batch": 64, "side": 28, "channels": (1, 16, 32), "classes": 10},
    "tiny": {"batch": 2, "side": 8, "channels": (1, 2, 3), "classes": 3},
}
RATE = 0.05
NUMBERS = ("NHWC", "HWIO", "NHWC")


def data(batch, side, channels, classes):
    """Kernels (height, width, in, out), the dense layer, images (channels last) and labels."""
    rng = np.random.default_rng(0)
    kernels = [
        rng.standard_normal((3, 3, m, n), "f4") * np.float32(0.2) for m, n in itertools.pairwise(channels)
    ]
    features = (side // 4) ** 2 * channels[-1]
    dense = rng.standard_normal((features, classes), "f4") / np.float32(np.sqrt(features))
    images = rng.standard_normal((batch, side, side, channels[0]), "f4")
    return kernels, dense, images, rng.integers(0, classes, batch)


def build(fw, **size):
    fnp, lax = fw.numpy, fw.lax
    kernels, dense, images, labels = data(**size)
    images, labels = fnp.asarray(images), fnp.asarray(labels.astype("i4"))

    def loss_fn(params):
        x = images
        for kernel, bias in params["layers"]:
            x = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=NUMBERS)
            x = fw.nn.relu(x + bias)
            x = lax.reduce_window(x, -np.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        logits = x.reshape(x.shape[0], -1) @ params["dense"] + params["bias"]
        logp = fw.nn.log_softmax(logits)
        return -fnp.mean(fnp.take_along_axis(logp, labels[:, None], axis=-1))

    def step(params):
        loss, grads = fw.value_and_grad(loss_fn)(params)
        return fw.tree.map(lambda p, g: p - RATE * g, params, grads), loss

    layers = [(fnp.asarray(k), fnp.zeros(k.shape[-1], "float32")) for k in kernels]
    return step, {"layers": layers, "dense": fnp.asarray(dense), "bias": fnp.zeros(dense.shape[1], "float32")}


def build_torch(torch, **size):
    functional = torch.nn.functional
    kernels, dense, images, labels = data(**size)
    images = torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2)))
    labels = torch.from_numpy(labels)
    flat = [torch.from_numpy(np.ascontiguousarray(k.transpose(3, 2, 0, 1))) for k in kernels]
    params = [p for k in flat for p in (k, torch.zeros(k.shape[0]))]
    params += [torch.from_numpy(dense), torch.zeros(dense.shape[1])]
    params = [p.requires_grad_() for p in params]
    optimizer = torch.optim.SGD(params, lr=RATE)

    @torch.compiled
    def loss_fn(params):
        x = images
        for kernel, bias in zip(params[:-2:2], params[1:-2:2]):
            x = functional.max_pool2d(torch.relu(functional.conv2d(x, kernel, bias, padding=1)), 2)
        # The dense layer's rows are in the order of channels last.
        logits = torch.addmm(params[-1], x.permute(0, 2, 3, 1).flatten(1), params[-2])
        return functional.cross_entropy(logits, labels)

    def step(params):
        optimizer.zero_grad()
        loss = loss_fn(params)
        loss.backward()
        optimizer.step()
        return params, loss.detach()

    return step, params


BUILDERS = {"rabbet": build, "jax": build, "torch": build_torch}

if __name__ == "__main__":
    harness.main(BUILDERS, SIZES)
