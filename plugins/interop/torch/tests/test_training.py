"""Training loops that mix both, against the same loop in PyTorch alone."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax

torch = pytest.importorskip("torch")

POINTS = np.random.RandomState(1).rand(64, 2).astype("f4")
TARGETS = np.sin(3 * POINTS[:, :1]) + POINTS[:, 1:]


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))


def head(x, scale):
    return lax.tanh(x) * scale + x


def tensor_head(x, scale):
    return torch.tanh(x) * scale + x


def train_in_torch(head, steps=100):
    net, scale = network(), torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.Adam([*net.parameters(), scale], lr=0.03)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((head(net(torch.from_numpy(POINTS)), scale) - torch.from_numpy(TARGETS)) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_a_layer_of_rabbet_in_a_loop_of_pytorch():
    mixed, alone = train_in_torch(rb.torch.as_torch(head)), train_in_torch(tensor_head)
    assert mixed[-1] < mixed[0] / 20
    np.testing.assert_allclose(mixed, alone, rtol=1e-3)


def test_a_module_of_pytorch_in_a_loop_of_rabbet():
    apply, params = rb.torch.from_module(network())
    params = {"net": params, "scale": lax.full((1,), 1.0)}

    def loss(params, x, y):
        out = head(apply(params["net"], x), params["scale"])
        return lax.reduce_sum((out - y) ** 2, axes=(0, 1)) / len(y)

    @rb.jit
    def step(params, x, y):
        value, slopes = rb.value_and_grad(loss)(params, x, y)
        return rb.tree.map(lambda p, g: p - 0.1 * g, params, slopes), value

    mixed = []
    for _ in range(60):
        params, value = step(params, POINTS, TARGETS)
        mixed.append(float(value))

    net, scale = network(), torch.nn.Parameter(torch.ones(1))
    optimizer, alone = torch.optim.SGD([*net.parameters(), scale], lr=0.1), []
    for _ in range(60):
        optimizer.zero_grad()
        value = ((tensor_head(net(torch.from_numpy(POINTS)), scale) - torch.from_numpy(TARGETS)) ** 2).mean()
        value.backward()
        optimizer.step()
        alone.append(value.item())
    assert mixed[-1] < mixed[0] / 3
    np.testing.assert_allclose(mixed, alone, rtol=1e-4)


def test_either_within_the_other():
    """A loop of PyTorch calls a program of Rabbet, which calls PyTorch, which calls Rabbet."""
    inner = rb.torch.as_torch(lambda x: lax.sin(x) * x)
    middle = rb.torch.as_rabbet(lambda x: inner(x).exp(), lambda x: rb.ShapeDtypeStruct(x.shape, x.dtype))
    outer = rb.torch.as_torch(lambda x: middle(x) + x)
    x = torch.linspace(-1, 1, 20).requires_grad_()
    (found,) = torch.autograd.grad(outer(x).sum(), x)
    (expected,) = torch.autograd.grad(((torch.sin(x) * x).exp() + x).sum(), x)
    torch.testing.assert_close(found, expected)
