"""A training step of a transformer, to plan for machines that one does not have.

    rabbet plan examples/planning/transformer.py --topology v5e:2x4 --mesh data=4,model=2
    rabbet plan examples/planning/transformer.py --topology h100:4x8 --sweep --picture transformer.html
    rabbet plan examples/planning/transformer.py --topology cpu:8 --sweep

Nothing here makes an array: `plan` returns the step and the types of its arguments, with the shardings that
they would have on the mesh that it is given.
"""

import functools
import math
from dataclasses import dataclass

import rabbet as rb
from rabbet import lax
from rabbet import numpy as rnp
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P

AXES = ("data", "model")
LAYOUTS = ("tensor", "fsdp", "replicated")


@dataclass(frozen=True)
class Sizes:
    layers: int = 4
    width: int = 512
    heads: int = 8
    hidden: int = 2048
    words: int = 8192
    batch: int = 32
    length: int = 256


SIZES = Sizes()

# How each weight is cut: by the heads or hidden units over `model`; over `data`, too; not at all. The
# first dimension of all but the table of words counts the layers.
CUTS = {
    "tensor": {
        "words": P("model"), "qkv": P(None, None, None, "model"), "out": P(None, "model"),
        "up": P(None, None, "model"), "down": P(None, "model"),
    },
    "fsdp": {
        "words": P("model", "data"), "qkv": P(None, "data", None, "model"),
        "out": P(None, "model", None, "data"), "up": P(None, "data", "model"),
        "down": P(None, "model", "data"),
    },
    "replicated": {name: P() for name in ("words", "qkv", "out", "up", "down")},
}  # fmt: skip


def shapes(s):
    head = s.width // s.heads
    return {
        "words": (s.words, s.width),
        "qkv": (s.layers, s.width, 3, s.heads, head),
        "out": (s.layers, s.heads, head, s.width),
        "up": (s.layers, s.width, s.hidden),
        "down": (s.layers, s.hidden, s.width),
    }


def normalized(x):
    x = x - x.mean(-1, keepdims=True)
    return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def attention(x, qkv, out):
    q, k, v = rnp.einsum("btd,dshe->sbthe", x, qkv)
    scores = rnp.einsum("bthe,bshe->bhts", q, k) / math.sqrt(q.shape[-1])
    later = rnp.tril(rnp.ones(scores.shape[-2:], bool))
    weights = rnp.exp(rnp.where(later, scores, -1e9) - lax.stop_gradient(scores.max(-1, keepdims=True)))
    weights = weights / weights.sum(-1, keepdims=True)
    return rnp.einsum("bhts,bshe,hed->btd", weights, v, out)


def layer(rows, x, weights):
    x = rows(x + attention(normalized(x), weights["qkv"], weights["out"]))
    return rows(x + rnp.tanh(normalized(x) @ weights["up"]) @ weights["down"]), None


def loss(rows, table, params, tokens):
    """The loss; ``rows`` cuts values between layers by sequences. Without it the compiler chooses, and where
    weights are cut over `data`, too, it may cut values by their width there, and move them at each weight.
    ``table`` says how the words lie when they are read, for the same reason.
    """
    words = table(params["words"])
    stacked = {name: params[name] for name in ("qkv", "out", "up", "down")}
    one = rb.checkpoint(functools.partial(layer, rows))
    x, _ = lax.scan(one, rows(words[tokens[:, :-1]]), stacked)
    logits = normalized(x) @ words.T
    most = lax.stop_gradient(logits.max(-1, keepdims=True))
    shifted = logits - most
    right = rnp.take_along_axis(shifted, tokens[:, 1:, None], -1)[..., 0]
    return (rnp.log(rnp.exp(shifted).sum(-1)) - right).mean()


def step_of(rows=lambda x: x, table=lambda x: x):
    """One step of gradient descent."""

    def step(params, tokens):
        gradient = rb.grad(loss, argnums=2)(rows, table, params, tokens)
        return rb.tree.map(lambda p, g: p - 0.01 * g, params, gradient)

    return rb.jit(step, donate_argnums=0)


def plan(mesh, layout="tensor", sizes=SIZES):
    """What to plan: the step, and the types of its arguments on a mesh."""

    def typed(shape, spec, dtype="float32"):
        return rb.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, spec))

    params = {name: typed(shape, CUTS[layout][name]) for name, shape in shapes(sizes).items()}
    rows, table = (
        functools.partial(lax.with_sharding_constraint, shardings=NamedSharding(mesh, spec))
        for spec in (P("data"), P(CUTS[layout]["words"][:1]))
    )
    return step_of(rows, table), (params, typed((sizes.batch, sizes.length + 1), P("data"), "int32"))
