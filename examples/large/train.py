"""A decoder trained in all the usual layouts, on eight CPU devices, by one command:

    python examples/large/train.py                       # all layouts
    python examples/large/train.py fsdp tensor --steps 5

It prints for each layout the last loss, how far the losses are from those on one device, the bytes that a
device sends in a step, the memory that it needs, the time of a step, and the use of the machine (6 N D over
the measured peak). The same step is planned for machines that one does not have:

    rabbet plan examples/large/train.py --topology v5p:8x8x16 --mesh data=1024 --layout fsdp --function large
    rabbet plan examples/large/train.py --topology h100:16x8 --mesh data=128 --layout fsdp --function large
"""

import argparse
import functools
import os
import time
from dataclasses import dataclass

os.environ.setdefault("RABBET_NUM_CPU_DEVICES", "8")

import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.ad_checkpoint import checkpoint_name
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P


@dataclass(frozen=True)
class Sizes:
    layers: int = 4
    width: int = 64
    heads: int = 4
    head: int = 16
    hidden: int = 128
    experts: int = 0  # 0: one layer of hidden units for all tokens
    words: int = 256
    batch: int = 16
    length: int = 32
    stages: int = 1
    microbatches: int = 1
    blocks: int = 1  # in which the queries of attention are taken, so that few scores are held
    dtype: str = "float32"

    @property
    def parameters(self):
        """Those that a token meets: all, but those of other experts."""
        inner = 2 * self.width * self.hidden
        return self.layers * (4 * self.width * self.heads * self.head + inner) + self.words * self.width


SMALL = Sizes()
LARGE = Sizes(80, 8192, 64, 128, 36864, 0, 32768, 1024, 4096, dtype="bfloat16")


@dataclass(frozen=True)
class Layout:
    """Sizes of the mesh's axes; how each weight is cut behind its first dimension, which counts layers; how
    values between layers are cut; how the optimizer's state is cut, by default as the weights.
    """

    axes: dict
    cuts: dict
    between: P
    state: P | None = None
    sizes: Sizes = SMALL


def cuts(width=None, model=None, expert=None):
    """Weights cut along their width by some axes, and by heads and hidden units by others."""
    return {
        "qkv": (width, None, model), "out": (model, None, width), "up": (expert, width, model),
        "down": (expert, model, width), "gate": (), "words": (model, width),
    }  # fmt: skip


LAYOUTS = {
    "data": Layout({"data": 8}, cuts(), P("data")),
    "zero": Layout({"data": 8}, cuts(), P("data"), state="data"),
    "fsdp": Layout({"data": 8}, cuts(width="data"), P("data")),
    "tensor": Layout({"data": 2, "model": 4}, cuts(model="model"), P("data")),
    "sequence": Layout({"data": 2, "model": 4}, cuts(model="model"), P("data", "model")),
    "mixed": Layout(
        {"data": 2, "fsdp": 2, "model": 2}, cuts(width="fsdp", model="model"), P(("data", "fsdp"))
    ),
    "experts": Layout(
        {"data": 2, "expert": 4}, cuts(expert="expert"), P("data"), sizes=Sizes(experts=4)
    ),
    "pipeline": Layout({"stage": 4, "data": 2}, cuts(), P("data"), sizes=Sizes(stages=4, microbatches=8)),
}  # fmt: skip
AXES = ("data", "fsdp", "model")


# ------------------------------------------------------------------------------------------------ the model
def shapes(s):
    experts = (max(1, s.experts),)
    found = {
        "qkv": (s.layers, s.width, 3, s.heads, s.head), "out": (s.layers, s.heads, s.head, s.width),
        "up": (s.layers, *experts, s.width, s.hidden), "down": (s.layers, *experts, s.hidden, s.width),
        "words": (s.words, s.width),
    }  # fmt: skip
    return {**found, "gate": (s.layers, s.width, s.experts)} if s.experts else found


def normalized(x):
    wide = x.astype("float32")
    return (wide * lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-6)).astype(x.dtype)


def attended(q, k, v, first=0):
    """Values for queries of which the first is the ``first`` of the sequence."""
    scores = rnp.einsum("bshe,bthe->bhst", q, k).astype("float32") / q.shape[-1] ** 0.5
    ahead = rnp.arange(k.shape[1]) > first + rnp.arange(q.shape[1])[:, None]
    scores = rnp.where(ahead, -1e9, scores)
    shifted = rnp.exp(scores - lax.stop_gradient(scores.max(-1, keepdims=True)))
    weights = (shifted / shifted.sum(-1, keepdims=True)).astype(q.dtype)
    return rnp.einsum("bhst,bthe->bshe", weights, v)


def attention(x, qkv, out, blocks=1):
    q, k, v = rnp.einsum("bsd,dche->cbshe", x, qkv)
    if blocks == 1:
        return rnp.einsum("bshe,hed->bsd", attended(q, k, v), out)
    each = x.shape[1] // blocks
    parts = rnp.swapaxes(q.reshape(q.shape[0], blocks, each, *q.shape[2:]), 0, 1)
    one = rb.checkpoint(lambda _, given: (None, attended(given[0], k, v, given[1])))
    made = rnp.swapaxes(lax.scan(one, None, (parts, each * rnp.arange(blocks)))[1], 0, 1)
    return rnp.einsum("bshe,hed->bsd", made.reshape(q.shape), out)


def hidden(x, w):
    if "gate" not in w:
        return rnp.tanh(x @ w["up"][0]) @ w["down"][0]
    chosen = rnp.exp(x @ w["gate"])  # every expert for every token, weighted
    chosen = chosen / chosen.sum(-1, keepdims=True)
    made = rnp.tanh(rnp.einsum("bsd,edf->ebsf", x, w["up"]))
    return rnp.einsum("ebsf,efd,bse->bsd", made, w["down"], chosen)


def layer(lay, blocks, x, w):
    x = checkpoint_name(x, "between")
    x = lay(x + attention(normalized(x), w["qkv"], w["out"], blocks))
    return lay(x + hidden(normalized(x), w)), None


def through_layers(x, stacked, lay, sizes, policy):
    one = functools.partial(layer, lay, sizes.blocks)
    return lax.scan(rb.checkpoint(one, policy=policy), x, stacked)[0]


def through_stages(x, stacked, sizes, along, policy):
    """Stages that work at the same time on different microbatches, and hand what they made to the next: a
    dimension of stages, cut over devices, which moves by one in each round. A microbatch takes every m-th
    sequence: so each device has a part of every microbatch, and none has to be sent.

    What begins and what is done has the dimension of stages, too, of which one place matters. So nothing but
    the move goes from stage to stage in a round.
    """
    n, m = sizes.stages, sizes.microbatches
    of_stages = rb.tree.map(lambda w: w.reshape(n, w.shape[0] // n, *w.shape[1:]), stacked)
    parts = rnp.swapaxes(x.reshape(x.shape[0] // m, m, *x.shape[1:]), 0, 1)
    one = lambda x, w: through_layers(x, w, lambda v: v, sizes, policy)
    is_first = (rnp.arange(n) == 0)[:, None, None, None]

    def round_(held, begun):
        held = along(rnp.where(is_first, begun, rnp.roll(held, 1, 0)), 0)
        held = along(rb.vmap(one)(held, of_stages), 0)
        return held, held

    begun = rnp.concatenate([parts, rnp.zeros((n - 1, *parts.shape[1:]), x.dtype)])
    begun = along(rnp.where(is_first, begun[:, None], 0), 1)
    _, made = lax.scan(round_, along(rnp.zeros((n, *parts.shape[1:]), x.dtype), 0), begun)
    return rnp.swapaxes(along(made, 1)[n - 1 :, -1], 0, 1).reshape(x.shape)


def through_stages_of_each(mesh, axis):
    """The same where each device along an axis has its own sequences: the loop over rounds adds up what they
    say of the weights, which is summed over the axis once, behind the loop.
    """

    def through(x, stacked, sizes, along, policy):
        def own(x, stacked):
            stacked = rb.tree.map(lambda w: lax.pcast(w, axis, to="varying"), stacked)
            return through_stages(x, stacked, sizes, along, policy)

        given = P(axis), rb.tree.map(lambda w: P(), stacked)
        return rb.shard_map(own, mesh=mesh, in_specs=given, out_specs=P(axis), axis_names={axis})(x, stacked)

    return through


def loss_of(mesh, layout, sizes, policy=None):
    """The loss of parameters and tokens, with values laid out on the mesh; None: on one device."""
    lay, along, through = (lambda x: x), (lambda x, dimension: x), through_stages
    if mesh is not None:
        lay = lambda x: lax.with_sharding_constraint(x, NamedSharding(mesh, layout.between))
        stages = lambda dimension: NamedSharding(mesh, P(*[None] * dimension, "stage"))
        along = lambda x, dimension: lax.with_sharding_constraint(x, stages(dimension))
        through = through_stages_of_each(mesh, layout.between[0])

    def loss(params, tokens):
        stacked = {name: w for name, w in params.items() if name != "words"}
        x = lay(params["words"][tokens[:, :-1]])
        if sizes.stages > 1:
            x = lay(through(x, stacked, sizes, along, policy))
        else:
            x = through_layers(x, stacked, lay, sizes, policy)
        logits = rnp.einsum("bsd,vd->bsv", normalized(x), params["words"]).astype("float32")
        shifted = logits - lax.stop_gradient(logits.max(-1, keepdims=True))
        right = rnp.take_along_axis(shifted, tokens[:, 1:, None], -1)[..., 0]
        return (rnp.log(rnp.exp(shifted).sum(-1)) - right).mean()

    return loss


def step_of(loss):
    """A step of gradient descent with momentum, from and to parameters and momentum, and the loss."""

    def step(params, momentum, tokens):
        value, gradient = rb.value_and_grad(loss)(params, tokens)
        momentum = rb.tree.map(lambda m, g: 0.9 * m + g.astype(m.dtype), momentum, gradient)
        params = rb.tree.map(lambda p, m: (p - 0.02 * m).astype(p.dtype), params, momentum)
        return params, momentum, value

    return step


# ------------------------------------------------------------------------------------------------- layouts
def places(mesh, layout, sizes):
    """How weights and the state of the optimizer lie: two dicts of shardings."""
    first = "stage" if sizes.stages > 1 else None
    weights, states = {}, {}
    for name, shape in shapes(sizes).items():
        cut = layout.cuts[name]
        spec = P(*cut) if name == "words" else P(first, *cut)
        weights[name] = states[name] = NamedSharding(mesh, spec)
        if layout.state is not None:  # along the first dimension that the devices divide
            count = mesh.shape[layout.state]
            i = next((i for i, n in enumerate(shape) if n % count == 0), None)
            states[name] = NamedSharding(mesh, P(*[None] * (i or 0), layout.state) if i is not None else P())
    return weights, states


def jitted(mesh, layout, sizes, policy=None):
    """The step on a mesh, which gives back what it was given in its place."""
    weights, states = places(mesh, layout, sizes)
    step = step_of(loss_of(mesh, layout, sizes, policy))
    return rb.jit(step, donate_argnums=(0, 1), out_shardings=(weights, states, NamedSharding(mesh, P())))


def types(mesh, layout, sizes):
    """The types of a step's arguments on a mesh."""
    weights, states = places(mesh, layout, sizes)
    typed = lambda where, dtype: {
        name: rb.ShapeDtypeStruct(shape, dtype, sharding=where[name]) for name, shape in shapes(sizes).items()
    }
    rows = NamedSharding(mesh, P(layout.between[0]))
    tokens = rb.ShapeDtypeStruct((sizes.batch, sizes.length + 1), "int32", sharding=rows)
    return typed(weights, sizes.dtype), typed(states, "float32"), tokens


POLICIES = {
    "all": None,
    "between": rb.checkpoint_policies.save_only_these_names("between"),
    "products": rb.checkpoint_policies.dots_with_no_batch_dims_saveable,
    "offload": rb.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[], names_which_can_be_offloaded=["between"], offload_src="device",
        offload_dst="pinned_host",
    ),
}  # fmt: skip
OPTIONS = {"remat": tuple(POLICIES)}


def plan(mesh, layout="fsdp", remat="all", sizes=None):
    """What ``rabbet plan`` plans: the step of a layout, and the types of its arguments."""
    found = LAYOUTS[layout]
    sizes = sizes or found.sizes
    return jitted(mesh, found, sizes, POLICIES[remat]), types(mesh, found, sizes)


def large(mesh, layout="fsdp", remat="all"):
    """The same of a model of 70e9 parameters."""
    return plan(mesh, layout, remat, LARGE)


# ------------------------------------------------------------------------------------------------ training
def started(sizes, seed=0):
    """Parameters, momentum and tokens, on the host."""
    key = rb.random.key(seed)
    params = {}
    for i, (name, shape) in enumerate(shapes(sizes).items()):
        params[name] = rb.random.normal(rb.random.fold_in(key, i), shape) / shape[-1] ** 0.5
    tokens = rb.random.randint(rb.random.fold_in(key, 99), (sizes.batch, sizes.length + 1), 0, sizes.words)
    return params, rb.tree.map(rnp.zeros_like, params), tokens


def trained(step, params, momentum, tokens, steps):
    """The losses of some steps, and the least time of one, the first left out."""
    losses, seconds = [], []
    for _ in range(steps):
        begun = time.perf_counter()
        params, momentum, loss = step(params, momentum, tokens)
        losses.append(float(loss))
        seconds.append(time.perf_counter() - begun)
    return losses, min(seconds[1:] or seconds)


def compared(name, steps, peak):
    """A line of the table."""
    from rabbet import planning

    layout = LAYOUTS[name]
    sizes = layout.sizes
    mesh = rb.make_mesh(tuple(layout.axes.values()), tuple(layout.axes))
    step = jitted(mesh, layout, sizes)
    found = planning.plan(step, *types(mesh, layout, sizes))
    host = started(sizes)
    alone, _ = trained(rb.jit(step_of(loss_of(None, layout, sizes))), *host, steps)
    where = rb.tree.map(lambda t: t.sharding, types(mesh, layout, sizes))
    losses, seconds = trained(step, *rb.tree.map(rb.device_put, host, tuple(where)), steps)
    apart = max([abs(a - b) for a, b in zip(losses, alone, strict=True)])
    sent = ", ".join([f"{'+'.join(a)} {n / 1e6:.2f}" for a, n in found.bytes_by_axis("sent").items()])
    used = 6 * sizes.parameters * sizes.batch * sizes.length / seconds / peak
    memory = found.memory.needed / 1e6
    numbers = f"{memory:8.2f}{seconds * 1e3:9.1f}{used:8.1%}"
    return f"{name:10}{losses[-1]:9.4f}{apart:10.1e}{numbers}  {sent or '0'}", apart


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("layouts", nargs="*", help=f"some of {', '.join(LAYOUTS)}; by default all")
    parser.add_argument("--steps", type=int, default=4)
    args = parser.parse_args()
    unknown = set(args.layouts) - set(LAYOUTS)
    if unknown:
        parser.error(f"no layout is called {', '.join(sorted(unknown))}; there are {', '.join(LAYOUTS)}")
    from rabbet import planning

    here = planning.measured_hardware(8)
    peak = 8 * here.speed("f32")
    count = f"{SMALL.parameters:,} parameters on {len(rb.devices())} devices"
    print(f"a decoder of {count}, {peak / 1e9:.0f} GFLOP/s measured")
    print("layout         loss     apart MB held  ms/step     MFU  MB sent by a device in a step")
    worst = 0.0
    for name in args.layouts or LAYOUTS:
        row, apart = compared(name, args.steps, peak)
        worst = max(worst, apart)
        print(row, flush=True)
    if worst > 1e-3:
        raise SystemExit(f"a layout's losses are {worst:.1e} apart from those on one device")


if __name__ == "__main__":
    main()
