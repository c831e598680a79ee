"""Training steps of several models laid over eight devices in the usual ways, and what each sends.

Run with ``rabbet`` or ``jax`` and the names of rows; prints a line of JSON for each: its name, the count and
bytes of its collective operations by kind, and the temporary memory of a device. Loops count as often as they
run. Bytes are those that a device puts in, or those that it gets out where these are more. LAYOUT_TOPOLOGY
names TPUs or GPUs to compile for (``v5e:2x4``, ``h100:8``), else eight CPU devices are meant.
"""

import functools
import json
import os
import sys

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
if len(sys.argv) > 1 and sys.argv[1] == "rabbet":
    import rabbet_jax

    rabbet_jax.install()

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

ROWS = {}
B, S, D, H, E, F, V, L = 16, 32, 64, 4, 16, 128, 256, 3


@functools.cache
def devices():
    named = os.environ.get("LAYOUT_TOPOLOGY")
    if not named:
        return jax.devices()
    if sys.argv[1] == "rabbet":
        from rabbet import planning

        return list(planning.topology(named).devices)
    from jax.experimental import topologies

    kind = named.partition(":")[0]
    if not named.startswith(("v", "tpu")):  # JAX has to be told what the GPU is like
        import jax_plugins.xla_cuda13
        from rabbet_pjrt_cuda.gpu_targets import described, split

        jax_plugins.xla_cuda13.initialize()
        told = {"target_config": described(kind), "topology": split(named)[1]}
        return topologies.get_topology_desc(kind, "cuda", **told).devices
    return topologies.get_topology_desc(named, "tpu").devices


def mesh_of(**axes):
    grid = np.array(devices(), object).reshape(tuple(axes.values()))
    return jax.sharding.Mesh(grid, tuple(axes), axis_types=(AxisType.Auto,) * len(axes))


def row(function):
    ROWS[function.__name__] = function
    return function


def aval(mesh, shape, *spec, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(mesh, P(*spec)))


def compiled(loss, params, *data):
    """A step of gradient descent, whose parameters stay where they are."""
    outs = jax.tree.map(lambda a: a.sharding, params)

    def step(params, *data):
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss)(params, *data))

    return jax.jit(step, out_shardings=outs).lower(params, *data).compile()


# ------------------------------------------------------------------------------------------------ a decoder
def decoder(mesh, cut, tokens_cut, constraint):
    """A step; parameters are cut as ``cut`` says, ``constraint`` lays out what goes from layer to layer."""
    shapes = {
        "qkv": (L, D, 3, H, E), "out": (L, H, E, D), "up": (L, D, F), "down": (L, F, D), "words": (V, D),
    }  # fmt: skip
    params = {name: aval(mesh, shape, *cut[name]) for name, shape in shapes.items()}
    lay = lambda x: lax.with_sharding_constraint(x, NamedSharding(mesh, P(*constraint)))

    def layer(x, w):
        q, k, v = jnp.einsum("bsd,dche->cbshe", x, w["qkv"])
        scores = jnp.einsum("bshe,bthe->bhst", q, k) / 4
        weights = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((S, S), bool)), scores, -1e9))
        x = lay(x + jnp.einsum("bhst,bthe,hed->bsd", weights, v, w["out"]))
        return lay(x + jnp.tanh(x @ w["up"]) @ w["down"]), None

    def loss(params, tokens):
        stacked = {k: w for k, w in params.items() if k != "words"}
        x, _ = lax.scan(jax.checkpoint(layer), lay(params["words"][tokens]), stacked)
        logits = jnp.einsum("bsd,vd->bsv", x, params["words"])
        return jax.nn.logsumexp(logits, -1).mean()

    return compiled(loss, params, aval(mesh, (B, S), *tokens_cut, dtype=jnp.int32))


WHOLE = dict.fromkeys(("qkv", "out", "up", "down", "words"), ())


@row
def decoder_data():
    return decoder(mesh_of(data=8), WHOLE, ("data",), ("data",))


@row
def decoder_fsdp():
    cut = {
        "qkv": (None, "data"), "out": (None, None, None, "data"), "up": (None, "data"),
        "down": (None, None, "data"), "words": (None, "data"),
    }  # fmt: skip
    return decoder(mesh_of(data=8), cut, ("data",), ("data",))


BY_HEADS = {
    "qkv": (None, None, None, "model"), "out": (None, "model"), "up": (None, None, "model"),
    "down": (None, "model"), "words": ("model",),
}  # fmt: skip


@row
def decoder_tensor():
    return decoder(mesh_of(data=2, model=4), BY_HEADS, ("data",), ("data",))


@row
def decoder_sequence():
    return decoder(mesh_of(data=2, model=4), BY_HEADS, ("data",), ("data", "model"))


@row
def decoder_2x2x2():
    cut = {
        "qkv": (None, "fsdp", None, "model"), "out": (None, "model", None, "fsdp"),
        "up": (None, "fsdp", "model"), "down": (None, "model", "fsdp"), "words": ("model", "fsdp"),
    }  # fmt: skip
    batch = (("data", "fsdp"),)
    return decoder(mesh_of(data=2, fsdp=2, model=2), cut, batch, batch)


# ------------------------------------------------------------------------------------------------- others
@row
def experts():
    mesh = mesh_of(data=2, expert=4)
    params = {
        "gate": aval(mesh, (D, 8)), "up": aval(mesh, (8, D, F), "expert"),
        "down": aval(mesh, (8, F, D), "expert"),
    }  # fmt: skip

    def loss(w, x):
        chosen = jax.nn.softmax(x @ w["gate"])
        hidden = jnp.tanh(jnp.einsum("td,edf->etf", x, w["up"]))
        return (jnp.einsum("etf,efd,te->td", hidden, w["down"], chosen) ** 2).mean()

    return compiled(loss, params, aval(mesh, (B * S, D), "data"))


@row
def convnet():
    mesh = mesh_of(data=8)
    shapes = {"one": (3, 3, 3, 16), "two": (3, 3, 16, 32), "out": (32, 10)}
    params = {name: aval(mesh, shape) for name, shape in shapes.items()}

    def loss(w, x):
        for name in ("one", "two"):
            numbers = ("NHWC", "HWIO", "NHWC")
            made = lax.conv_general_dilated(x, w[name], (2, 2), "SAME", dimension_numbers=numbers)
            x = jax.nn.relu(made)
        return jax.nn.logsumexp(x.mean((1, 2)) @ w["out"], -1).mean()

    return compiled(loss, params, aval(mesh, (16, 16, 16, 3), "data"))


@row
def vision():
    """A transformer over patches of images; rows of images and heads are cut."""
    mesh = mesh_of(data=4, model=2)
    shapes = {
        "patch": ((4 * 4 * 3, D), None), "place": ((16, D), None), "qkv": ((L, D, 3, H, E), 3),
        "out": ((L, H, E, D), 1), "up": ((L, D, F), 2), "down": ((L, F, D), 1), "head": ((D, 10), None),
    }  # fmt: skip
    cut = lambda at, ndim: ["model" if i == at else None for i in range(ndim)]
    params = {name: aval(mesh, shape, *cut(at, len(shape))) for name, (shape, at) in shapes.items()}
    rows = NamedSharding(mesh, P("data"))

    def normed(x):
        return (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)

    def layer(x, w):
        q, k, v = jnp.einsum("bsd,dche->cbshe", normed(x), w["qkv"])
        weights = jax.nn.softmax(jnp.einsum("bshe,bthe->bhst", q, k) / 4)
        x = x + jnp.einsum("bhst,bthe,hed->bsd", weights, v, w["out"])
        x = x + jax.nn.gelu(normed(x) @ w["up"]) @ w["down"]
        return lax.with_sharding_constraint(x, rows), None

    def loss(w, images, labels):
        patches = images.reshape(B, 4, 4, 4, 4, 3).transpose(0, 1, 3, 2, 4, 5).reshape(B, 16, 48)
        x = lax.with_sharding_constraint(patches @ w["patch"] + w["place"], rows)
        x, _ = lax.scan(layer, x, {name: w[name] for name in ("qkv", "out", "up", "down")})
        scores = jax.nn.log_softmax(normed(x).mean(1) @ w["head"])
        return -(scores * jax.nn.one_hot(labels, 10)).sum(-1).mean()

    labels = aval(mesh, (B,), "data", dtype=jnp.int32)
    return compiled(loss, params, aval(mesh, (B, 16, 16, 3), "data"), labels)


@row
def lstm():
    mesh = mesh_of(data=4, model=2)
    params = {name: aval(mesh, (D, 4, D), None, None, "model") for name in ("x", "h")}

    def loss(w, x):
        def step(carry, x):
            h, c = carry
            i, f, g, o = jnp.moveaxis(
                jnp.einsum("bd,dke->bke", x, w["x"]) + jnp.einsum("bd,dke->bke", h, w["h"]), 1, 0
            )
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

        start = jnp.zeros((B, D)), jnp.zeros((B, D))
        return (lax.scan(step, start, jnp.moveaxis(x, 1, 0))[0][0] ** 2).mean()

    return compiled(loss, params, aval(mesh, (B, 8, D), "data"))


@row
def ranking():
    """Tables of words cut by rows, which are most of the model."""
    mesh = mesh_of(data=8)
    params = {
        "users": aval(mesh, (1024, 16), "data"), "items": aval(mesh, (2048, 16), "data"),
        "top": aval(mesh, (32, 1)),
    }  # fmt: skip

    def loss(w, users, items):
        both = jnp.concatenate([w["users"][users], w["items"][items].mean(1)], -1)
        return (jnp.tanh(both @ w["top"]) ** 2).mean()

    ints = lambda shape: aval(mesh, shape, "data", dtype=jnp.int32)
    return compiled(loss, params, ints((64,)), ints((64, 8)))


@row
def log_sum_exp():
    """Over an axis that is cut."""
    mesh = mesh_of(x=8)
    x = aval(mesh, (64, 64), None, "x")
    return jax.jit(lambda x: jax.nn.logsumexp(x, -1)).lower(x).compile()


# ------------------------------------------------------------------------------------------------ counting
def counted(made):
    """``{kind: [count, bytes]}`` of a compiled program, loops as often as they run, read as ``rabbet plan``
    reads programs.
    """
    from rabbet_plan.collectives import collectives
    from rabbet_plan.execution_counts import steps
    from rabbet_plan.hlo import Module

    proto = made.runtime_executable().hlo_modules()[0].as_serialized_hlo_module_proto()
    found = {}
    for each in collectives(steps(Module(proto)), {"all": 8}, 8):
        assert each.known, each
        entry = found.setdefault(each.kind, [0, 0])
        entry[0] += each.times
        entry[1] += each.times * each.bytes
    return dict(sorted(found.items()))


if __name__ == "__main__":
    for name in sys.argv[2:] or ROWS:
        made = ROWS[name]()
        memory = made.memory_analysis().temp_size_in_bytes
        print(json.dumps([name, counted(made), memory]), flush=True)
