"""Training steps of libraries written for JAX, under JAX and on Rabbet: import, first step, steady step.

    python benchmarks/library_steps.py                      # all programs, ratios of Rabbet to JAX
    python benchmarks/library_steps.py equinox optax --pairs 5
    python benchmarks/library_steps.py --rows               # as the rows of docs/jax_libraries.md

Each pair is a process of either framework; both live at once, and take turns for each round of steady steps,
so that what else the machine does meets both. A round is the mean of some steps, each waited for; with
`--together` only the last one, which leaves out what waiting costs. All figures
but the import are processor time of all threads together, the least over the rounds and pairs; "quarter" is
the ratio of the lower quartiles of the rounds; under 1.0 is faster. The folder of compiled programs is new
for each process. The environment has the libraries, jax and Rabbet, as tox's `ecosystem` has; libraries that
are not installed are left out.
"""

import argparse
import importlib.util
import os
import subprocess
import sys
import tempfile
import time

ROUNDS, FIRST, ROUND_SECONDS = 100, 5, 5e-3


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


def numpyro_regression():
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    x = jax.random.normal(jax.random.key(0), (200, 5))
    y = x @ jnp.arange(5.0) + 0.1

    def model(x, y):
        weights = numpyro.sample("weights", dist.Normal(0, 1).expand([5]).to_event(1))
        scale = numpyro.sample("scale", dist.HalfNormal(1))
        numpyro.sample("y", dist.Normal(x @ weights, scale), obs=y)

    return model, (x, y)


def numpyro_svi():
    import jax
    import numpyro

    model, data = numpyro_regression()
    guide = numpyro.infer.autoguide.AutoNormal(model)
    svi = numpyro.infer.SVI(model, guide, numpyro.optim.Adam(1e-2), numpyro.infer.Trace_ELBO())
    update = jax.jit(svi.update)
    return lambda state: update(state, *data)[0], svi.init(jax.random.key(1), *data)


def numpyro_nuts():
    import jax
    import numpyro

    model, data = numpyro_regression()
    kernel = numpyro.infer.NUTS(model)
    state = kernel.init(jax.random.key(1), 100, None, data, {})
    step = jax.jit(lambda state: kernel.sample(state, data, {}))
    return step, state, 120  # steps that adapt


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
    "numpyro-density": numpyro_density,
    "numpyro-svi": numpyro_svi,
    "numpyro-nuts": numpyro_nuts,
    "diffrax": diffrax_gradient,
}
IMPORTED = {"flax-linen": "flax.linen", "flax-nnx": "flax.nnx"}


def measure(framework, name, together):
    """In a process of its own: the figures of the beginning, and then one for each line read."""
    started = time.perf_counter()
    if framework == "rabbet":  # not by its command: jaxlib notes who calls, and more callers take longer
        import rabbet_jax

        rabbet_jax.install()
    __import__(IMPORTED.get(name, name.partition("-")[0]))
    import jax

    imported = time.perf_counter() - started
    step, state, *warm = PROGRAMS[name]()
    jax.block_until_ready(state)

    def steps(state, count):
        begun = time.process_time()
        for _ in range(count):
            state = step(state)
            if not together:
                jax.block_until_ready(state)
        jax.block_until_ready(state)
        return state, time.process_time() - begun

    state, first = steps(state, 1)
    state, _ = steps(state, *warm or [5])
    state, few = steps(state, 5)
    count = int(min(500, max(5, ROUND_SECONDS / max(few / 5, 1e-6))))
    print(imported, first, flush=True)
    while sys.stdin.readline() == "round\n":
        state, spent = steps(state, count)
        print(spent / count, flush=True)


def process(framework, name, cache, options):
    """One process that measures."""
    settings = {"RABBET_CACHE_DIR": cache, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"}
    return subprocess.Popen(
        [sys.executable, __file__, "--measure", framework, name, *options],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, env={**os.environ, **settings},
    )  # fmt: skip


def pair(name, rounds, options):
    """Import, first step and steady steps of Rabbet and of JAX."""
    found = []
    with tempfile.TemporaryDirectory() as cache:
        processes = []
        for framework in ("rabbet", "jax"):  # one after the other
            processes.append(process(framework, name, cache, options))
            imported, first = map(float, processes[-1].stdout.readline().split())
            found.append((imported, first, []))
        for turn in range(FIRST + rounds):
            for one, (_, _, steady) in zip(processes, found, strict=True):
                one.stdin.write("round\n")
                figure = float(one.stdout.readline())
                if turn >= FIRST:
                    steady.append(figure)
        for one in processes:
            one.communicate("end\n")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("programs", nargs="*", help=", ".join(PROGRAMS))
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--rows", action="store_true", help="rows of a table")
    parser.add_argument("--together", action="store_true", help="wait for the last step of a round only")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(*args.measure, args.together)
        return
    before, options = os.getloadavg()[0], ["--together"] * args.together
    between, edge = (" | ", ("| ", " |")) if args.rows else ("  ", ("", ""))
    heads = ("import", "first step, ms: JAX", "Rabbet", "ratio", "step, µs: JAX", "Rabbet", "ratio")
    print(edge[0] + between.join(("program", *heads, "quarter")) + edge[1])
    if args.rows:
        print("|" + "---|" * (len(heads) + 2))
    for name in args.programs or PROGRAMS:
        if importlib.util.find_spec(IMPORTED.get(name, name).partition(".")[0].partition("-")[0]) is None:
            continue
        pairs = [pair(name, args.rounds, options) for _ in range(args.pairs)]
        here, there = zip(*pairs, strict=True)
        imports, firsts = ([min(one[i] for one in side) for side in (there, here)] for i in (0, 1))
        rounds = [sorted(x for one in side for x in one[2]) for side in (there, here)]
        steady, quarter = [one[0] for one in rounds], [one[len(one) // 4] for one in rounds]
        cells = [f"{name:16}", f"{imports[1] / imports[0]:.2f}"]
        cells += [f"{firsts[0] * 1e3:.0f}", f"{firsts[1] * 1e3:.0f}", f"{firsts[1] / firsts[0]:.2f}"]
        cells += [f"{steady[0] * 1e6:.1f}", f"{steady[1] * 1e6:.1f}", f"{steady[1] / steady[0]:.2f}"]
        print(edge[0] + between.join([*cells, f"{quarter[1] / quarter[0]:.2f}"]) + edge[1], flush=True)
    print(f"load of the machine: {before:.1f} before, {os.getloadavg()[0]:.1f} after", file=sys.stderr)


if __name__ == "__main__":
    main()
