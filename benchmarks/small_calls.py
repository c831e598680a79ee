"""Compiled calls that take microseconds, under JAX and on Rabbet: loops, several results, structures, steps.

    python benchmarks/small_calls.py                    # ratios of Rabbet's processor time to JAX's
    python benchmarks/small_calls.py "while" diffrax --pairs 5

Names are beginnings of rows. Each run is a process of its own, the two frameworks in turns. A process tells
for each row the least mean of 15 rounds, processor time of all threads together; a figure is the least over
the processes. Rows of libraries that are not installed are left out.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time

ROUNDS = 15


def loops_and_calls():
    import jax
    import jax.numpy as jnp
    from jax import lax

    def counted(n):
        return lambda x: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 1.01 + 0.1), (0, x))

    def nested(x):
        inner = lambda c: lax.fori_loop(0, 5, lambda i, k: k * 1.01 + 1, c)
        return lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 1, inner(c[1])), (0, x))

    x, v = jnp.float32(1.0), jnp.ones(8)
    tree = {"a": v, "b": [v, x]}
    yield "while, 1 turn", counted(1), (x,)
    yield "while, 100 turns", counted(100), (x,)
    yield "while, 12 turns, of unknown number", until_large, (v,)
    yield "fori_loop, 10 turns", lambda x: lax.fori_loop(0, 10, lambda i, c: c * 1.01 + i, x), (x,)
    yield "scan, 8 turns", lambda x: lax.scan(lambda c, a: (c * 1.01 + a, c), x, v), (x,)
    yield "nested loops", nested, (x,)
    yield "one result", lambda x: x + 1, (x,)
    yield "two results", lambda x: (x + 1, x + 2), (x,)
    yield "five results", lambda x: tuple(x + i for i in range(5)), (x,)
    yield "four arguments", lambda a, b, c, d: a + b + c + d, (x,) * 4
    yield "dict of three arrays", lambda d: jax.tree.map(lambda a: a + 1, d), (tree,)


def until_large(v):
    from jax import lax

    return lax.while_loop(lambda c: c.sum() < 1e3, lambda c: c * 1.5, v)


def diffrax_solves():
    import diffrax
    import jax
    import jax.numpy as jnp

    def field(t, y, a):
        return jnp.stack([y[1], a * (1 - y[0] ** 2) * y[1] - y[0]])

    def solve(y, a):
        control = diffrax.PIDController(rtol=1e-5, atol=1e-5)
        term, solver = diffrax.ODETerm(field), diffrax.Tsit5()
        found = diffrax.diffeqsolve(
            term, solver, 0.0, 10.0, None, y, args=a, max_steps=512, stepsize_controller=control
        )
        return found.ys[0]

    y, a = jnp.array([2.0, 0.0]), jnp.float32(1.0)
    yield "diffrax: adaptive solve", solve, (y, a)
    yield "diffrax: its gradient", jax.value_and_grad(lambda a: solve(y, a).sum()), (a,)


def numpyro_steps():
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

    kernel = numpyro.infer.NUTS(model)
    state = kernel.init(jax.random.key(1), 100, None, (x, y), {})
    step = jax.jit(lambda state: kernel.sample(state, (x, y), {}))
    for _ in range(120):
        state = step(state)
    yield "numpyro: step of NUTS", lambda state: kernel.sample(state, (x, y), {}), (state,)


GROUPS = {"jax": loops_and_calls, "diffrax": diffrax_solves, "numpyro": numpyro_steps}


def measure(names):
    """In a process of its own: the figures of the rows, printed as JSON."""
    import jax

    found = {}
    for library, rows in GROUPS.items():
        wanted = library == "jax" or not names or any(library.startswith(name) for name in names)
        if not wanted or importlib.util.find_spec(library) is None:
            continue
        for row, function, args in rows():
            if names and not any(row.startswith(name) for name in names):
                continue
            found[row] = least(jax, jax.jit(function), args)
    print(json.dumps(found))


def least(jax, call, args):
    """Microseconds of processor time of a call."""
    for _ in range(3):
        jax.block_until_ready(call(*args))
    begun = time.process_time()
    jax.block_until_ready(call(*args))
    calls = int(min(500, max(20, 2e-3 / max(time.process_time() - begun, 1e-6))))
    spent = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        for _ in range(calls):
            result = call(*args)
        jax.block_until_ready(result)
        spent.append((time.process_time() - begun) / calls)
    return min(spent) * 1e6


def run(command, names):
    """One process: its figures."""
    ran = subprocess.run(
        [sys.executable, *command, __file__, "--measure", *names],
        capture_output=True, text=True, check=True,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"},
    )  # fmt: skip
    return json.loads(ran.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="beginnings of the names of rows; all without")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(args.names)
        return
    pairs = [(run(["-m", "rabbet_jax"], args.names), run([], args.names)) for _ in range(args.pairs)]
    print(f"{'microseconds of processor time':36} {'JAX':>8} {'Rabbet':>8} {'ratio':>6}")
    for row in pairs[0][0]:
        here, there = (min(pair[side][row] for pair in pairs) for side in (0, 1))
        print(f"{row:36} {there:8.2f} {here:8.2f} {here / there:6.2f}")


if __name__ == "__main__":
    main()
