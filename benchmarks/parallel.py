"""Programs over several CPU devices and processes, under `jax` or `rabbet`.

    python parallel.py rabbet 12                 # everything, with a transformer of 12 layers
    python parallel.py jax 12 dispatch           # one part, of those below
    python compare.py parallel.py 12 dispatch    # alternating processes of both

Prints one JSON line:

- dispatch: microseconds of a call of a jitted function on arrays over 2 and 8 devices, and of one that pmap
  made, each until the result is there; `_async` without waiting for it;
- put: milliseconds of device_put of a NumPy array of 64 MB to 8 shards;
- step: gpt_step.py's training step, its batch over 4 devices and its matrices over 2;
- scaling: milliseconds of a step of a perceptron of one size, its batch over 1, 2, 4 and 8 devices;
- processes: milliseconds of a sum over two processes, of 1 MB and 100 MB;
- scaling_processes: those of the same step with its batch over 1, 2 and 4 processes.
"""

import importlib
import json
import os
import socket
import subprocess
import sys
import time
import timeit

name, layers = sys.argv[1], int(sys.argv[2])
part = sys.argv[3] if len(sys.argv) > 3 else "all"
if part != "process":
    os.environ[f"{name.upper()}_NUM_CPU_DEVICES"] = "8"
ARGUMENTS, sys.argv[3:] = sys.argv[4:], []  # gpt_step.py reads them, too

import numpy as np  # noqa: E402

fw = importlib.import_module(name)
fnp = importlib.import_module(name + ".numpy")
sharding = importlib.import_module(name + ".sharding")
P = sharding.PartitionSpec
PARTS = {}


def measured(function):
    """Decorator: a part of the benchmark; it returns figures by name."""
    PARTS[function.__name__] = function
    return function


def mesh_of(shape, names):
    devices = np.array(fw.devices()[: int(np.prod(shape))], object)
    return sharding.Mesh(devices.reshape(shape), names)


def best(call, number, repeat=7):
    """Seconds of one call: the least of several means."""
    call()
    return min(timeit.repeat(call, number=number, repeat=repeat)) / number


@measured
def dispatch():
    found = {}

    def both(figure, call, number=300):
        found[f"{figure}_us"] = round(1e6 * best(lambda: call().block_until_ready(), number), 1)
        found[f"{figure}_async_us"] = round(1e6 * best(call, number), 1)

    for count in (2, 8):
        at = sharding.NamedSharding(mesh_of((count,), ("x",)), P("x"))
        x = fw.device_put(np.arange(64, dtype="f4"), at)
        f = fw.jit(lambda a, b: fnp.tanh(a + b))
        both(f"jit_{count}", lambda f=f, x=x: f(x, x))
        g = fw.pmap(lambda a: fnp.tanh(a) + 1)
        y = g(np.ones((count, 8), "f4"))
        both(f"pmap_{count}", lambda g=g, y=y: g(y))
    tree = {f"w{i}": fw.device_put(np.ones(8, "f4"), at) for i in range(150)}
    h = fw.jit(lambda t: t["w0"] + 1)
    both("jit_8_150_leaves", lambda: h(tree))
    return found


@measured
def put():
    at = sharding.NamedSharding(mesh_of((8,), ("x",)), P("x"))
    columns = sharding.NamedSharding(at.mesh, P(None, "x"))
    x = np.ones((4096, 4096), "f4")
    small = np.ones((8, 8), "f4")
    return {
        "put_64mb_rows_ms": round(1e3 * best(lambda: fw.device_put(x, at).block_until_ready(), 3, 5), 2),
        "put_64mb_columns_ms": round(
            1e3 * best(lambda: fw.device_put(x, columns).block_until_ready(), 3, 5), 2
        ),
        "put_small_us": round(1e6 * best(lambda: fw.device_put(small, at).block_until_ready(), 100), 1),
    }


CUTS = {"qkv": P(None, "model"), "o": P("model"), "w1": P(None, "model"), "b1": P("model"), "w2": P("model")}


@measured
def step():
    import gpt_step

    mesh = mesh_of((4, 2), ("data", "model"))
    at = lambda *spec: sharding.NamedSharding(mesh, P(*spec))
    params, m, v, tokens, targets = gpt_step.state_and_batch()

    def lay(params):
        whole = {k: fw.device_put(x, at()) for k, x in params.items() if k != "layers"}
        cut = lambda p: {k: fw.device_put(x, at(*CUTS.get(k, P()))) for k, x in p.items()}
        return whole | {"layers": [cut(p) for p in params["layers"]]}

    params, m, v = lay(params), lay(m), lay(v)
    tokens, targets = fw.device_put(tokens, at("data")), fw.device_put(targets, at("data"))
    one = fw.device_put(np.float32(1), at())
    start = time.perf_counter()
    traced = fw.jit(gpt_step.train_step).trace(params, m, v, one, tokens, targets)
    at_trace = time.perf_counter()
    lowered = traced.lower()
    at_lower = time.perf_counter()
    compiled = lowered.compile()
    at_end = time.perf_counter()
    jitted = fw.jit(
        gpt_step.train_step,
        out_shardings=(*[fw.tree.map(lambda x: x.sharding, t) for t in (params, m, v)], at()),
    )
    *state, loss = jitted(params, m, v, one, tokens, targets)
    times = []
    for _ in range(7):
        start_step = time.perf_counter()
        *state, loss = jitted(*state, one, tokens, targets)
        gpt_step.wait((state, loss))
        times.append(time.perf_counter() - start_step)
    del compiled
    return {
        "trace_s": round(at_trace - start, 4),
        "lower_s": round(at_lower - at_trace, 4),
        "trace_lower_s": round(at_lower - start, 4),
        "compile_s": round(at_end - at_lower, 3),
        "step_ms": round(1e3 * min(times), 2),
        "losses": [round(float(loss), 4)],
    }


def step_over(count):
    """Milliseconds of a step of a perceptron whose batch lies over so many devices."""
    draw = np.random.default_rng(0)
    x, w = draw.normal(size=(2048, 256)).astype("f4"), draw.normal(size=(2, 256, 256)).astype("f4") / 16

    def loss(w, x):
        return (fnp.tanh(fnp.tanh(x @ w[0]) @ w[1]) ** 2).mean()

    mesh = mesh_of((count,), ("x",))
    at = lambda *spec: sharding.NamedSharding(mesh, P(*spec))
    f = fw.jit(fw.grad(loss), out_shardings=at())
    a = fw.make_array_from_callback(w.shape, at(), lambda index: w[index])
    b = fw.make_array_from_callback(x.shape, at("x"), lambda index: x[index])
    return round(1e3 * best(lambda: f(a, b).block_until_ready(), 5, 5), 3)


@measured
def scaling():
    return {f"devices_{count}_ms": step_over(count) for count in (1, 2, 4, 8)}


def said_by_first(role, count):
    """What the first of ``count`` processes prints, each of which runs ``ROLES[role]``."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    command = [sys.executable, __file__, name, str(layers), "process", role, port, str(count)]
    env = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_CPU_DEVICES")}
    children = [
        subprocess.Popen([*command, str(i)], stdout=subprocess.PIPE, text=True, env=env) for i in range(count)
    ]
    said = [child.communicate()[0] for child in children]
    return json.loads(said[0].splitlines()[-1])


@measured
def processes():
    return said_by_first("sums", 2)


@measured
def scaling_processes():
    return {f"processes_{count}_ms": said_by_first("step", count) for count in (1, 2, 4)}


def sums(rank):
    """Of two processes."""
    mesh = mesh_of((2,), ("x",))
    at = sharding.NamedSharding(mesh, P("x"))
    total = fw.jit(lambda x: x.sum(0), out_shardings=sharding.NamedSharding(mesh, P()))
    found = {}
    for megabytes, number in ((1, 20), (100, 2)):
        size = megabytes * 1_000_000 // 4
        mine = np.full((1, size), rank + 1, "f4")
        x = fw.make_array_from_process_local_data(at, mine)
        out = total(x)
        assert float(np.asarray(out.addressable_shards[0].data)[0]) == 3.0
        seconds = best(lambda x=x: total(x).block_until_ready(), number, 5)
        found[f"sum_{megabytes}mb_ms"] = round(1e3 * seconds, 2)
    return found


ROLES = {"sums": sums, "step": lambda rank: step_over(fw.device_count())}


def process(role, port, count, rank):
    """One of ``count`` processes."""
    fw.distributed.initialize(f"127.0.0.1:{port}", num_processes=count, process_id=rank)
    return ROLES[role](rank)


if __name__ == "__main__":
    if part == "process":
        role, port, count, rank = ARGUMENTS
        print(json.dumps(process(role, port, int(count), int(rank))))
    else:
        chosen = PARTS.values() if part == "all" else [PARTS[part]]
        figures = {"framework": name}
        for each in chosen:
            figures |= each()
        print(json.dumps(figures))
