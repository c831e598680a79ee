"""Sequence parallel: each device has a part of the positions, and attention goes around a ring.

    RABBET_NUM_CPU_DEVICES=8 python examples/parallel/sequence_parallel.py
    rabbet plan examples/parallel/sequence_parallel.py --topology v5e:2x4

Keys and values go from device to device, until each has seen all of them; a running maximum and a running sum
make the softmax of the parts that of the whole (Liu, Zaharia and Abbeel 2023, "Ring Attention"). No device
ever holds scores of all positions.
"""

import common
import numpy as np
import rabbet as rb
from rabbet import lax
from rabbet import numpy as rnp
from rabbet.sharding import PartitionSpec as P

AXES = ("sequence",)
HEADS, LENGTH, SIZE = 2, 64, 16
FAR = -1e9  # the score of a later position


def alone(q, k, v):
    """The mean square of causal attention, and its gradients."""

    def loss(q, k, v):
        scores = rnp.einsum("hqe,hke->hqk", q, k) / SIZE**0.5
        scores = rnp.where(rnp.tril(rnp.ones((LENGTH, LENGTH), bool)), scores, FAR)
        weights = rnp.exp(scores - scores.max(-1, keepdims=True))
        out = rnp.einsum("hqk,hke->hqe", weights / weights.sum(-1, keepdims=True), v)
        return (out * out).sum() / (HEADS * LENGTH * SIZE)

    return rb.value_and_grad(loss, (0, 1, 2))(q, k, v)


def ring_attention(q, k, v, axis):
    """Causal attention of this device's queries to the keys and values of all devices."""
    devices, here = lax.axis_size(axis), lax.axis_index(axis)
    part = q.shape[1]
    ring = [(i, (i + 1) % devices) for i in range(devices)]
    rows = here * part + rnp.arange(part)

    def attend(state, k, v, turn):
        out, most, total = state
        columns = ((here - turn) % devices) * part + rnp.arange(part)  # after `turn` moves along the ring
        scores = rnp.einsum("hqe,hke->hqk", q, k) / q.shape[-1] ** 0.5
        scores = rnp.where(rows[:, None] >= columns, scores, FAR)
        higher = rnp.maximum(most, scores.max(-1))
        weights, shrink = rnp.exp(scores - higher[..., None]), rnp.exp(most - higher)
        out = out * shrink[..., None] + rnp.einsum("hqk,hke->hqe", weights, v)
        return out, higher, total * shrink + weights.sum(-1)

    def round_of(carry, turn):
        state, k, v = carry
        k, v = lax.ppermute((k, v), axis, ring)
        return (attend(state, k, v, turn), k, v), None

    first = rnp.zeros_like(q), rnp.full_like(q[..., 0], FAR), rnp.zeros_like(q[..., 0])
    state = attend(first, k, v, 0)
    ((out, _, total), _, _), _ = lax.scan(round_of, (state, k, v), rnp.arange(1, devices))
    return out / total[..., None]


def spread(mesh):
    """The same over a mesh: gradients of each device's own positions."""

    def step(q, k, v):
        def loss(q, k, v):
            out = ring_attention(q, k, v, "sequence")
            return lax.psum((out * out).sum(), "sequence") / (HEADS * LENGTH * SIZE)

        return rb.value_and_grad(loss, (0, 1, 2))(q, k, v)

    cut = P(None, "sequence")
    return rb.jit(rb.shard_map(step, mesh=mesh, in_specs=(cut,) * 3, out_specs=(P(), (cut,) * 3)))


def arguments():
    draw = np.random.default_rng(0)
    return tuple([draw.normal(size=(HEADS, LENGTH, SIZE)).astype("float32") for _ in range(3)])


def specs():
    return (P(None, "sequence"),) * 3


def sends(devices):
    """Keys and values go around, and their gradients back; the loss is summed."""
    times = 2 * 2 * (devices - 1)
    return {
        "collective-permute": (times, times * 4 * HEADS * LENGTH * SIZE // devices),
        "all-reduce": (1, 4),
    }


def plan(mesh):
    return spread(mesh), common.types(mesh, arguments(), specs())


if __name__ == "__main__":
    common.main()
