"""Training steps of libraries written for JAX, under JAX and on Rabbet: import, first step, steady step.

    python benchmarks/library_steps.py                      # all libraries, ratios of Rabbet to JAX
    python benchmarks/library_steps.py equinox optax --pairs 9
    python benchmarks/library_steps.py --rows    # processor time, as the rows of docs/jax_libraries.md

Each run is a process of its own, the two frameworks in turns; a figure is the least over the runs, which a
machine that has other work disturbs least, and a ratio that of two such figures: under 1.0 is faster. Of the
steady steps a process tells the least mean of ten in a row, over three seconds. Processor time is
that of all threads together. The folder of compiled programs is new for each process. The environment has the
libraries, jax and Rabbet, as tox's `ecosystem` has.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

STEADY, ROWS, SECONDS = 10, 30, 3.0
FIGURES = ("import", "first step", "its processor time", "steady step", "its processor time")


def optax_adamw():
    import jax
    import jax.numpy as jnp
    import optax

    optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
    params = {"w": jnp.ones((64, 64)), "b": jnp.zeros(64)}
    x = jnp.ones((32, 64))

    @jax.jit
    def step(state):
        params, inner = state
        grads = jax.grad(lambda p: jnp.mean(jnp.tanh(x @ p["w"] + p["b"]) ** 2))(params)
        updates, inner = optimizer.update(grads, inner, params)
        return optax.apply_updates(params, updates), inner

    return step, (params, optimizer.init(params))


def equinox_mlp():
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    x = jnp.ones((32, 16))

    @eqx.filter_jit
    def step(model):
        grads = eqx.filter_grad(lambda m: jnp.mean(jax.vmap(m)(x) ** 2))(model)
        return eqx.apply_updates(model, jax.tree.map(lambda g: -1e-2 * g, grads))

    return step, eqx.nn.MLP(16, 1, 64, 3, key=jax.random.PRNGKey(0))


def haiku_network():
    import haiku as hk
    import jax
    import jax.numpy as jnp

    layers = lambda: hk.Sequential([hk.Linear(64), jax.nn.relu, hk.LayerNorm(-1, True, True), hk.Linear(1)])
    network = hk.without_apply_rng(hk.transform(lambda x: layers()(x)))
    x = jnp.ones((32, 16))

    @jax.jit
    def step(params):
        grads = jax.grad(lambda p: jnp.mean(network.apply(p, x) ** 2))(params)
        return jax.tree.map(lambda p, g: p - 1e-2 * g, params, grads)

    return step, network.init(jax.random.PRNGKey(0), x)


def flax_linen_network():
    import flax.linen as nn
    import jax
    import jax.numpy as jnp

    network = nn.Sequential([nn.Conv(16, (3, 3)), nn.relu, nn.Conv(16, (3, 3)), nn.GroupNorm(4), nn.Dense(1)])
    x = jnp.ones((8, 16, 16, 3))

    @jax.jit
    def step(params):
        grads = jax.grad(lambda p: jnp.mean(network.apply(p, x) ** 2))(params)
        return jax.tree.map(lambda p, g: p - 1e-2 * g, params, grads)

    return step, network.init(jax.random.PRNGKey(0), x)


def flax_nnx_network():
    import jax.numpy as jnp
    import optax
    from flax import nnx

    rngs = nnx.Rngs(0)
    network = nnx.Sequential(nnx.Linear(16, 64, rngs=rngs), nnx.relu, nnx.Linear(64, 1, rngs=rngs))
    optimizer = nnx.Optimizer(network, optax.adam(1e-2), wrt=nnx.Param)
    x = jnp.ones((32, 16))

    @nnx.jit
    def train(network, optimizer):
        loss, grads = nnx.value_and_grad(lambda m: jnp.mean(m(x) ** 2))(network)
        optimizer.update(network, grads)
        return loss

    def step(state):
        train(network, optimizer)
        return nnx.state(network)

    return step, None


def numpyro_density():
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist
    from numpyro.infer.util import log_density

    y = jnp.linspace(-1.0, 1.0, 100)

    def model():
        scale = numpyro.sample("scale", dist.HalfNormal(1.0))
        place = numpyro.sample("place", dist.StudentT(3.0))
        numpyro.sample("y", dist.Normal(place, scale), obs=y)

    @jax.jit
    def step(params):
        grads = jax.grad(lambda p: log_density(model, (), {}, p)[0])(params)
        return jax.tree.map(lambda p, g: p + 1e-4 * g, params, grads)

    return step, {"scale": jnp.array(1.0), "place": jnp.array(0.1)}


def diffrax_gradient():
    import diffrax
    import jax
    import jax.numpy as jnp

    def final(k):
        term = diffrax.ODETerm(lambda t, y, args: -args * y)
        control = diffrax.PIDController(rtol=1e-5, atol=1e-6)
        out = diffrax.diffeqsolve(
            term, diffrax.Tsit5(), 0.0, 2.0, None, jnp.ones(8), k, stepsize_controller=control
        )
        return jnp.sum(out.ys)

    return jax.jit(lambda k: k - 1e-3 * jax.grad(final)(k)), jnp.array(1.0)


PROGRAMS = {
    "optax": optax_adamw,
    "equinox": equinox_mlp,
    "haiku": haiku_network,
    "flax-linen": flax_linen_network,
    "flax-nnx": flax_nnx_network,
    "numpyro": numpyro_density,
    "diffrax": diffrax_gradient,
}
IMPORTED = {"haiku": "haiku", "flax-linen": "flax.linen", "flax-nnx": "flax.nnx"}


def measure(name):
    """In a process of its own: the figures of one program, printed as JSON."""
    started = time.perf_counter()
    __import__(IMPORTED.get(name, name))
    import jax

    imported = time.perf_counter()
    step, state = PROGRAMS[name]()
    jax.block_until_ready(state)
    before, used = time.perf_counter(), time.process_time()
    state = jax.block_until_ready(step(state))
    first, used = time.perf_counter() - before, time.process_time() - used
    steady, spent = [], []
    ends = time.perf_counter() + SECONDS
    while len(steady) < ROWS or time.perf_counter() < ends:
        begun, spending = time.perf_counter(), time.process_time()
        for _ in range(STEADY):
            state = jax.block_until_ready(step(state))
        steady.append((time.perf_counter() - begun) / STEADY)
        spent.append((time.process_time() - spending) / STEADY)
    print(json.dumps([imported - started, first, used, min(steady), min(spent)]))


def run(name, command):
    """One process: its figures."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {
            **os.environ,
            "RABBET_CACHE_DIR": cache,
            "JAX_PLATFORMS": "cpu",
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }
        ran = subprocess.run(
            [sys.executable, *command, __file__, "--measure", name],
            capture_output=True, text=True, check=True, env=environment,
        )  # fmt: skip
    return json.loads(ran.stdout.splitlines()[-1])


def row(name, pairs):
    """A row of the page: processor time of the first step in ms, and of a steady one in microseconds."""
    cells = [name]
    for i, scale in ((2, 1e3), (4, 1e6)):
        here, there = (min(pair[side][i] for pair in pairs) for side in (0, 1))
        cells += [f"{there * scale:.1f}", f"{here * scale:.1f}", f"{here / there:.2f}"]
    return f"| {' | '.join(cells)} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("libraries", nargs="*", help=", ".join(PROGRAMS))
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--rows", action="store_true", help="rows of a table: processor time")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(args.measure)
        return
    if not args.rows:
        print(f"{'library':12} " + " ".join(f"{figure:>26}" for figure in FIGURES))
    for name in args.libraries or PROGRAMS:
        pairs = [(run(name, ["-m", "rabbet_jax"]), run(name, [])) for _ in range(args.pairs)]
        if args.rows:
            print(row(name, pairs), flush=True)
            continue
        columns = []
        for i in range(len(FIGURES)):
            here, there = (min(pair[side][i] for pair in pairs) for side in (0, 1))
            columns.append(f"{here * 1e3:9.2f} / {there * 1e3:9.2f} {here / there:4.2f}")
        print(f"{name:12} " + " ".join(columns), flush=True)


if __name__ == "__main__":
    main()
