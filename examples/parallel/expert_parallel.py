"""Expert parallel: each device has one expert and a part of the tokens, which go to the expert they choose.

    RABBET_NUM_CPU_DEVICES=8 python examples/parallel/expert_parallel.py
    rabbet plan examples/parallel/expert_parallel.py --topology v5e:2x4

A router chooses one expert for each token (Fedus, Zoph and Shazeer 2021, "Switch Transformers"). `all_to_all`
takes the tokens there and back. Each device keeps room for all of its tokens at each expert, so that none is
dropped, and the result is that of one device.
"""

import common
import numpy as np
import rabbet as rb
from rabbet import lax
from rabbet import numpy as rnp
from rabbet.sharding import PartitionSpec as P

AXES = ("expert",)
EXPERTS, TOKENS, WIDTH, HIDDEN = 8, 64, 16, 32


def routed(router, x):
    """The expert of each token, as a row with a single 1, and its weight."""
    logits = x @ router
    weights = rnp.exp(logits - logits.max(-1, keepdims=True))
    weights = weights / weights.sum(-1, keepdims=True)
    chosen = (weights.argmax(-1)[:, None] == rnp.arange(EXPERTS)).astype(x.dtype)
    return chosen, (weights * chosen).sum(-1)


def expert(up, down, x):
    return rnp.tanh(x @ up) @ down


def alone(params, x):
    """The loss and its gradient."""

    def loss(params, x):
        chosen, weight = routed(params["router"], x)
        each = rnp.stack([expert(u, d, x) for u, d in zip(params["up"], params["down"], strict=True)])
        out = x + rnp.einsum("te,etd,t->td", chosen, each, weight)
        return (out * out).sum() / (TOKENS * WIDTH)

    return rb.value_and_grad(loss)(params, x)


def mixture(params, x, axis):
    """This device's tokens, each from its expert."""
    chosen, weight = routed(params["router"], x)
    places = rnp.arange(len(x))
    place = (rnp.cumsum(chosen, 0) * chosen).sum(-1) - 1  # among the tokens for the same expert
    send = chosen[:, :, None] * (place[:, None, None] == places)  # token, expert, place
    there = lax.all_to_all(rnp.einsum("tep,td->epd", send, x), axis, 0, 0)  # now: device, place
    done = expert(params["up"][0], params["down"][0], there)
    back = lax.all_to_all(done, axis, 0, 0)
    return x + rnp.einsum("tep,epd,t->td", send, back, weight)


def spread(mesh):
    """The same over a mesh, an expert for each device."""

    def step(params, x):
        def loss(params, x):
            out = mixture(params, x, "expert")
            return lax.psum((out * out).sum(), "expert") / (TOKENS * WIDTH)

        return rb.value_and_grad(loss)(params, x)

    weights, tokens = specs()
    return rb.jit(rb.shard_map(step, mesh=mesh, in_specs=(weights, tokens), out_specs=(P(), weights)))


def arguments():
    draw = np.random.default_rng(0)
    normal = lambda *shape: draw.normal(size=shape).astype("float32")
    params = {
        "router": normal(WIDTH, EXPERTS), "up": normal(EXPERTS, WIDTH, HIDDEN) / 4,
        "down": normal(EXPERTS, HIDDEN, WIDTH) / 6,
    }  # fmt: skip
    return params, normal(TOKENS, WIDTH)


def specs():
    return {"router": P(), "up": P("expert"), "down": P("expert")}, P("expert")


def sends(devices):
    """Tokens go there and back, and the gradients of what came back go there: those of the tokens themselves
    are not asked for. The gradient of the router and the loss are summed.
    """
    room = 4 * EXPERTS * (TOKENS // devices) * WIDTH
    return {"all-to-all": (3, 3 * room), "all-reduce": (1, 4 * (WIDTH * EXPERTS + 1))}


def plan(mesh):
    return spread(mesh), common.types(mesh, arguments(), specs())


if __name__ == "__main__":
    common.main()
