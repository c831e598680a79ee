"""A small decoder in the manner of LLaMA, in plain JAX: trained, over several devices if you like, and asked.

    rabbet run-jax examples/jax_libraries/llama.py
    rabbet run-jax examples/jax_libraries/llama.py --devices 4 --model 2     # with rabbet-parallel

With `--devices 4 --model 2` the batch is cut in two and the matrices in two. The text is Python's
documentation. The figure shows the loss, and what a symbol costs with and without the cache of keys and
values.
"""

import time
from functools import partial

import decoder
import drawing
import jax
import numpy as np
import optax
import text
from drawing import plt
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

BATCH, LENGTH = 16, 64
PLACES = {  # which axis of a matrix lies along the mesh's axis "model"
    "query": P(None, None, "model"), "key": P(None, None, "model"), "value": P(None, None, "model"),
    "mix": P(None, "model"), "gate": P(None, None, "model"), "up": P(None, None, "model"),
    "down": P(None, "model"), "output": P(None, "model"),
}  # fmt: skip


def mesh_of(devices, model):
    """A mesh of (data, model) over the devices, or None for one device."""
    if devices == 1:
        return None
    return Mesh(np.array(jax.devices()[:devices]).reshape(-1, model), ("data", "model"))


def placed(params, mesh):
    """The parameters where the mesh wants them."""
    if mesh is None:
        return params
    return {name: jax.device_put(x, NamedSharding(mesh, PLACES.get(name, P()))) for name, x in params.items()}


def loss_of(params, piece, sizes):
    logits, _ = decoder.apply(params, piece[:, :-1], sizes)
    return optax.softmax_cross_entropy_with_integer_labels(logits, piece[:, 1:]).mean()


def training(steps, sizes, mesh):
    """The trained parameters, and the losses of the steps."""
    symbols, _ = text.documentation()
    rng = np.random.default_rng(0)
    rate = optax.warmup_cosine_decay_schedule(0.0, 6e-3, max(1, steps // 10), steps)
    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(rate, weight_decay=0.01))
    params = placed(decoder.create(jax.random.key(0), sizes), mesh)
    state = optimizer.init(params)

    @partial(jax.jit, donate_argnums=(0, 1))
    def step(params, state, piece):
        loss, grads = jax.value_and_grad(loss_of)(params, piece, sizes)
        updates, state = optimizer.update(grads, state, params)
        return optax.apply_updates(params, updates), state, loss

    losses = []
    for i in range(steps):
        piece = text.windows(symbols, BATCH, LENGTH + 1, rng)
        if mesh is not None:
            piece = jax.device_put(piece, NamedSharding(mesh, P("data")))
        params, state, loss = step(params, state, piece)
        losses.append((i, float(loss)))
        if i % 50 == 49 or i == steps - 1:
            print(f"step {i + 1}: loss {loss:.3f}")
    return params, losses


def seconds(function, *args):
    """How long a second call takes."""
    jax.block_until_ready(function(*args))
    begin = time.perf_counter()
    jax.block_until_ready(function(*args))
    return time.perf_counter() - begin


def costs(params, sizes, start, counts):
    """For each count, the milliseconds a symbol with the cache and without."""
    rows = []
    for count in counts:
        ways = (partial(way, count=count, sizes=sizes) for way in (decoder.generate, decoder.generate_slowly))
        rows.append((count, *(1e3 * seconds(jax.jit(way), params, start) / count for way in ways)))
    return rows


def draw(losses, rows, folder):
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
    drawing.curve(left, losses, "training", linewidth=0.7)
    left.set_ylabel("loss of the batch")
    counts, cached, plain = zip(*rows)
    right.plot(counts, plain, "o-", label="without a cache")
    right.plot(counts, cached, "o-", label="with it")
    right.set(xlabel="symbols written", ylabel="milliseconds a symbol", ylim=(0, None))
    right.legend()
    drawing.write(figure, folder, "llama")


def main():
    parser = drawing.options(__doc__.partition("\n")[0], 300)
    parser.add_argument("--devices", type=int, default=1, help="CPU devices to use (1)")
    parser.add_argument("--model", type=int, default=1, help="how many of them share a matrix (1)")
    args = parser.parse_args()
    if args.devices > 1:
        jax.config.update("jax_num_cpu_devices", args.devices)
    sizes, mesh = decoder.Sizes(), mesh_of(args.devices, args.model)
    params, losses = training(args.steps, sizes, mesh)
    shards = params["gate"].sharding.shard_shape(params["gate"].shape)
    print(f"{args.devices} devices; each holds {shards} of the gates' {params['gate'].shape}")

    start = np.frombuffer(b"The statement ", np.uint8).astype(np.int32)[None]
    symbols = jax.jit(partial(decoder.generate, count=120, sizes=sizes))(params, start)
    print("The statement " + text.readable(symbols[0]))
    rows = costs(params, sizes, start, (2, 4) if args.steps < 100 else (4, 8, 16))
    slow = jax.jit(partial(decoder.generate_slowly, count=4, sizes=sizes))(params, start)
    same = float((slow == symbols[:, :4]).mean())
    print(f"of the first symbols, {same:.0%} are the same without the cache")
    draw(losses, rows, args.out)
    print(losses[0][1], losses[-1][1], same)


if __name__ == "__main__":
    main()
