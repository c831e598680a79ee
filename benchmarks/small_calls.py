"""Compiled calls that take microseconds, under JAX and on Rabbet: loops, several results, structures, steps.

    python benchmarks/small_calls.py                    # ratios of Rabbet's processor time to JAX's
    python benchmarks/small_calls.py "while" diffrax --pairs 5
    RABBET_NATIVE=0 python benchmarks/small_calls.py    # without the package that makes calls in C

Names are beginnings of rows. Each pair is a process of either framework; both live at once, and take turns
for each round of a row, so that what else the machine does meets both. A round is the mean of some calls, in
processor time of all threads together. A figure is the least over all rounds and pairs; "quarter" is the
ratio of the lower quartiles. Rows of libraries that are not installed are left out.
"""

import argparse
import dataclasses
import importlib.util
import os
import subprocess
import sys
import time
from typing import Any, NamedTuple

ROUNDS, FIRST = 100, 5


def loops_and_calls():
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import lax

    def counted(n):
        return lambda x: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] * 1.01 + 0.1), (0, x))

    def nested(x):
        inner = lambda c: lax.fori_loop(0, 5, lambda i, k: k * 1.01 + 1, c)
        return lax.while_loop(lambda c: c[0] < 10, lambda c: (c[0] + 1, inner(c[1])), (0, x))

    x, v = jnp.float32(1.0), jnp.ones(8)
    tree = {"a": v, "b": [v, x]}
    yield "one result", lambda x: x + 1, (x,)
    yield "two results", lambda x: (x + 1, x + 2), (x,)
    yield "five results", lambda x: tuple(x + i for i in range(5)), (x,)
    yield "25 results", lambda x: tuple(x + i for i in range(25)), (x,)
    yield "four arguments", lambda a, b, c, d: a + b + c + d, (x,) * 4
    yield "a number", lambda x, n: x + n, (x, 2.5)
    yield "a NumPy array", lambda x, n: x + n, (v, np.ones(8, np.float32))
    yield "by name", lambda x, scale: x * scale, (x,), {"scale": x}
    yield "a captured array", lambda x: x + v, (x,)
    yield "dict of three arrays", lambda d: jax.tree.map(lambda a: a + 1, d), (tree,)
    yield "dict of 20 arrays", lambda d: sum(d.values()), ({str(i): x for i in range(20)},)
    yield "while, 1 turn", counted(1), (x,)
    yield "while, 100 turns", counted(100), (x,)
    yield "while, 12 turns, of unknown number", until_large, (v,)
    yield "while, the same, one more argument", until_large, (v, v)
    yield "fori_loop, 10 turns", lambda x: lax.fori_loop(0, 10, lambda i, c: c * 1.01 + i, x), (x,)
    yield "scan, 8 turns", lambda x: lax.scan(lambda c, a: (c * 1.01 + a, c), x, v), (x,)
    yield "nested loops", nested, (x,)


def calls_of_other_kinds():
    import jax
    import jax.numpy as jnp
    import numpy as np

    class Pair(NamedTuple):
        a: Any
        b: Any

    @jax.tree_util.register_dataclass
    @dataclasses.dataclass
    class Fields:
        a: Any
        b: Any
        kind: str = dataclasses.field(default="plain", metadata={"static": True})

    class Registered:
        def __init__(self, a, b):
            self.a, self.b = a, b

    jax.tree_util.register_pytree_node(
        Registered, lambda one: ((one.a, one.b), None), lambda _, pair: Registered(*pair)
    )

    x, v = jnp.float32(1.0), jnp.ones(8)
    unread = np.arange(1000, dtype=np.float32)
    twice = lambda x, how: x * 2
    both = lambda one: one.a + one.b
    changed = lambda one: jax.tree.map(lambda a: a + 1, one)
    yield "static text", twice, (x, "mean"), {}, {"static_argnums": 1}
    yield "static number", twice, (x, 3), {}, {"static_argnums": 1}
    yield "static tuple", twice, (x, (2, "same", 3)), {}, {"static_argnums": 1}
    yield "static by name", twice, (x,), {"how": "mean"}, {"static_argnames": "how"}
    yield "named tuple", both, (Pair(v, v),)
    yield "named tuple to such a one", changed, (Pair(v, v),)
    yield "dataclass", both, (Fields(v, v),)
    yield "dataclass to such a one", changed, (Fields(v, v),)
    yield "registered class", both, (Registered(v, v),)
    yield "registered class to such a one", changed, (Registered(v, v),)
    yield "an unread array", lambda x, unread: x + 1, (x, v)
    yield "an unread NumPy array", lambda x, unread: x + unread.shape[0], (x, unread)
    yield "a donated array", lambda x: x + 1, (jnp.ones(8),), {}, {"donate_argnums": 0}, True
    yield "a donated number", lambda x: x + 1, (jnp.float32(2),), {}, {"donate_argnums": 0}, True
    yield "one of two donated", lambda x, y: (x + y, y + 0), (jnp.ones(8), v), {}, {"donate_argnums": 0}, True
    state = {"w": v + 1, "m": [v + 2, x + 3]}
    yield "a donated dict of three", changed, (state,), {}, {"donate_argnums": 0}, True
    yield "donated by name", lambda one: one + 1, (), {"one": v + 4}, {"donate_argnames": "one"}, True


def until_large(v, *more):
    from jax import lax

    return lax.while_loop(lambda c: c.sum() < 1e3, lambda c: sum(more, c * 1.5), v)


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
    import numpyro
    from library_steps import numpyro_regression

    model, (x, y) = numpyro_regression()
    kernel = numpyro.infer.NUTS(model)
    state = kernel.init(jax.random.key(1), 100, None, (x, y), {})
    step = jax.jit(lambda state: kernel.sample(state, (x, y), {}))
    for _ in range(120):
        state = step(state)
    yield "numpyro: step of NUTS", lambda state: kernel.sample(state, (x, y), {}), (state,)


GROUPS = {
    "jax": [loops_and_calls, calls_of_other_kinds],
    "diffrax": [diffrax_solves],
    "numpyro": [numpyro_steps],
}


class Row:
    """A compiled call; ``carried`` says that the arguments of the next one are the result."""

    def __init__(self, function, args, kwargs=(), options=(), carried=False):
        import jax

        self.jax, self.call, self.args = jax, jax.jit(function, **dict(options)), args
        self.kwargs, self.carried = dict(kwargs), carried
        self.times(3)
        begun = time.process_time()
        self.times(5)
        self.count = int(min(500, max(5, 2e-3 / max((time.process_time() - begun) / 5, 1e-6))))

    def times(self, count):
        call, args, kwargs = self.call, self.args, self.kwargs
        if not self.carried:
            for _ in range(count):
                result = call(*args, **kwargs)
        elif kwargs:
            (name,) = kwargs
            for _ in range(count):
                kwargs[name] = result = call(**kwargs)
        elif len(args) > 1:
            for _ in range(count):
                args = result = call(*args)
            self.args = args
        else:
            (result,) = args
            for _ in range(count):
                result = call(result)
            self.args = (result,)
        self.jax.block_until_ready(result)

    def round(self):
        """Microseconds of processor time of a call."""
        begun = time.process_time()
        self.times(self.count)
        return (time.process_time() - begun) / self.count * 1e6


def measure(framework, names):
    """In a process of its own: for each row its name, and then a figure for each line read."""
    if framework == "rabbet":  # not by its command: jaxlib notes who calls, and more callers take longer
        import rabbet_jax

        rabbet_jax.install()
    for library, groups in GROUPS.items():
        wanted = library == "jax" or not names or any(library.startswith(name) for name in names)
        if not wanted or importlib.util.find_spec(library) is None:
            continue
        for group in groups:
            for name, *given in group():
                if names and not any(name.startswith(one) for one in names):
                    continue
                row = Row(*given)
                print(name, flush=True)
                while sys.stdin.readline() == "round\n":
                    print(row.round(), flush=True)
    print(flush=True)


def process(framework, names):
    """One process that measures."""
    return subprocess.Popen(
        [sys.executable, __file__, "--measure", framework, *names],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "TF_CPP_MIN_LOG_LEVEL": "3"},
    )  # fmt: skip


def pair(names, rounds):
    """The rounds of each row by a process of Rabbet and one of JAX."""
    found = {}
    with process("rabbet", names) as here, process("jax", names) as there:
        while name := here.stdout.readline().strip():
            assert name == there.stdout.readline().strip()
            found[name] = [], []
            for turn in range(FIRST + rounds):
                for one, figures in zip((here, there), found[name], strict=True):
                    one.stdin.write("round\n")
                    figure = float(one.stdout.readline())
                    if turn >= FIRST:
                        figures.append(figure)
            for one in (here, there):
                one.stdin.write("next\n")
        there.communicate()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="beginnings of the names of rows; all without")
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--rows", action="store_true", help="rows of a table")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(args.measure, args.names)
        return
    before = os.getloadavg()[0]
    pairs = [pair(args.names, args.rounds) for _ in range(args.pairs)]
    if not args.rows:
        print(f"{'microseconds of processor time':36} {'JAX':>8} {'Rabbet':>8} {'ratio':>6} {'quarter':>8}")
    for row in pairs[0]:
        here, there = (sorted(x for one in pairs for x in one[row][side]) for side in (0, 1))
        least, quarter = here[0] / there[0], here[len(here) // 4] / there[len(there) // 4]
        if args.rows:
            print(f"| {row} | {there[0]:.2f} | {here[0]:.2f} | {least:.2f} | {quarter:.2f} |")
        else:
            print(f"{row:36} {there[0]:8.2f} {here[0]:8.2f} {least:6.2f} {quarter:8.2f}")
    print(f"load of the machine: {before:.1f} before, {os.getloadavg()[0]:.1f} after", file=sys.stderr)


if __name__ == "__main__":
    main()
