"""Odd arguments of ``rabbet.planning``: a clear error, or figures that are finite and make sense.

    python tools/check/fuzz/plan_inputs.py --count 1000
    python tools/check/fuzz/plan_inputs.py --from 17 --count 1      # one, with its number

Each call gives one of the functions (``topology``, ``Topology.mesh``, ``hardware_of``, ``plan``, ``sweep``,
``bubbles_of``, ``goodput_of``, ``training_of``) one or two arguments that are not what they should be: of
another type, NaN, infinite, negative, none, too many. A fault: an error of a kind that says nothing to
whoever called (such as an AttributeError), one without the name of what is wrong, a figure that is NaN,
infinite or negative, a plan that takes another number than the one that was given, the end of the process.
"""

import argparse
import collections
import dataclasses
import math
import random
import sys

NUMBERS = (
    0,
    -1,
    1,
    2.5,
    float("nan"),
    float("inf"),
    -0.0,
    1e-320,
    1e308,
    10**400,
    "2",
    None,
    True,
    3j,
    [2],
    b"2",
)
NAMES = (
    "", "cpu",
    "cpu:0", "cpu:-1", "cpu:1e3", "cpu:٣", "cpu:²", "cpu: 4", "cpu:4x4", "v5e", "v5e:0x4", "v5e:2x",
    "h100:",
    "h100:0",
    "x" * 5000, "cpu:4\0", "../x", "cuda/", "cuda/nowhere", "cuda//dev/null", "1x1x", "cpu:4:4", "CPU:4",
    None, 4,
    b"cpu:4", ["cpu:4"], True,
)  # fmt: skip
AXES = (
    {}, {"a": 4}, {"a": 2.5, "b": 2}, {"a": "4"}, {"a": -1}, {"a": -1, "b": -1}, {"a": 0},
    {"a": True, "b": 4},
    {4: 4},
    {1: 2, "1": 2}, {"a": float("nan")}, {"a": None}, {"a": 10**30}, [("a", 4)], "a", None, 4,
    ("a",),
    {"a": [4]},
    {"": 4}, {"a": -4}, {"a": 4.0}, {"a": -1.0, "b": 2},
)  # fmt: skip
SWEPT = (
    "data",
    "",
    (),
    None,
    3,
    ("data", "data"),
    [1],
    {"data": 4},
    ("data", ""),
    (None,),
    "dm",
    ("a",) * 12,
)
# What may be raised; the rest says nothing to whoever called.
MAY = (
    "ConfigError",
    "ShardingError",
    "ValueError",
    "TypeError",
    "CompileError",
    "MissingPluginError",
    "PluginError",
)
WORDS = (
    "topology", "mesh", "hardware", "plan", "sweep", "bubbles_of", "goodput_of", "training", "devices",
    "axes", "axis",
    "Hardware", "program.<locals>.<lambda>() ",  # the last: Python's own, of a wrong call
)  # fmt: skip


def program(mesh):
    import rabbet as rb
    from rabbet.sharding import NamedSharding, PartitionSpec

    spec = PartitionSpec(mesh.axis_names[0])
    return (lambda x: x.sum()), (rb.ShapeDtypeStruct((8, 4), "float32", sharding=NamedSharding(mesh, spec)),)


def finite(value, what):
    """The figures of a result, each with its name: those that are no counts and no times."""
    if isinstance(value, bool) or value is None or isinstance(value, (str, bytes)):
        return []
    if isinstance(value, (int, float)):
        return [] if 0 <= value < math.inf else [f"{what} is {value}"]
    if isinstance(value, dict):
        return [one for key, part in value.items() for one in finite(part, f"{what}[{key!r}]")]
    if isinstance(value, (tuple, list)):
        names = getattr(value, "_fields", range(len(value)))
        return [one for name, part in zip(names, value) for one in finite(part, f"{what}.{name}")]
    if dataclasses.is_dataclass(value):
        return [
            one
            for f in dataclasses.fields(value)
            for one in finite(getattr(value, f.name), f"{what}.{f.name}")
        ]
    return []


def training(rng):
    from rabbet import planning

    given = {"seconds": 1.0, "devices": 8, "peak": 1e12, "parameters": 1e9, "tokens": 500.0, "products": 1e9}
    given |= {
        "stages": 2,
        "microbatches": 4,
        "between_failures": 1e4,
        "checkpoint": 2.0,
        "restart": 1.0,
        "price": 2.0,
    }
    for name in rng.sample(sorted(given), rng.choice([1, 1, 2])):
        given[name] = rng.choice(NUMBERS)
    return given, lambda: planning.training_of(given.pop("seconds"), **given)


def hardware(rng):
    from rabbet import planning

    fields = (
        "memory",
        "bandwidth",
        "other",
        "link",
        "links",
        "network",
        "latency",
        "network_latency",
        "host",
    )
    changed = {name: rng.choice(NUMBERS) for name in rng.sample(fields, rng.choice([1, 1, 2]))}
    if rng.random() < 0.2:
        changed = {"matrix": rng.choice([{}, {"f32": 0}, {"f32": float("nan")}, None, {"f32": "1"}, 3])}
    odd = rng.choice([None, "v5e", 3, {"memory": 1}, object()]) if rng.random() < 0.2 else None
    mesh = planning.topology("cpu:4").mesh({"data": 4})
    step, args = program(mesh)

    def run():
        made = dataclasses.replace(planning.hardware_of("v5e"), **changed) if odd is None else odd
        return planning.plan(step, *args, hardware=made)

    return changed if odd is None else odd, run


def call(rng):
    """``(name, arguments, call)`` of one call."""
    from rabbet import planning

    which = rng.choice(
        ["topology", "mesh", "hardware_of", "plan", "hardware", "sweep", "bubbles", "goodput", "training"]
    )
    if which == "topology":
        name = rng.choice(NAMES)
        return which, name, lambda: planning.topology(name)
    if which == "mesh":
        axes = rng.choice(AXES)
        return which, axes, lambda: planning.topology("cpu:4").mesh(axes)
    if which == "hardware_of":
        name = rng.choice(NAMES)
        return which, name, lambda: planning.hardware_of(name)
    if which == "bubbles":
        given = [rng.choice([*NUMBERS, 4, 4, 4]) for _ in range(3)]
        return which, given, lambda: planning.bubbles_of(*given)
    if which == "goodput":
        given = [rng.choice([*NUMBERS, 4.0, 4.0, 4.0]) for _ in range(3)]
        return which, given, lambda: planning.goodput_of(*given)
    if which == "training":
        return which, *training(rng)
    if which == "hardware":
        return which, *hardware(rng)
    if which == "plan":
        step, args = program(planning.topology("cpu:4").mesh({"data": 4}))
        odd = (
            (step, args)
            if rng.random() < 0.4
            else rng.choice(
                [
                    (None, args),
                    (3, args),
                    (step, ()),
                    (step, (1.0,)),
                    (step, ("x",)),
                    ("x", args),
                    (step, args * 2),
                ]
            )
        )
        options = rng.choice([None, {"xla_nothing": 1}, {3: 3}, {"xla_embed_ir_in_executable": "x"}, 7, "x"])
        return which, (odd, options), lambda: planning.plan(odd[0], *odd[1], compiler_options=options)
    odd = rng.randrange(4)
    axes = rng.choice(SWEPT) if odd == 0 else ("data",)
    budget = rng.choice(NUMBERS) if odd == 1 else rng.choice([None, 0.01, 100.0])
    on = rng.choice([None, 7, "cpu:0"]) if odd == 2 else "cpu:2"
    layouts = rng.choice([None, 3, ("x",), "x"]) if odd == 3 else ()
    return (
        which,
        (axes, on, layouts, budget),
        lambda: planning.sweep(program, on, axes, layouts, budget=budget),
    )


def made_sense(which, given, found):
    """What is wrong with a result: a list of sentences."""
    if which == "mesh":
        sizes = list(given.values())
        same = all(type(n) is int for n in sizes) and (found.size == 4)
        return [] if same else [f"a mesh of {dict(found.shape)}"]
    if which == "hardware_of":
        return [] if found is None or isinstance(given, str) else [f"{found!r:.60}"]
    if which == "topology":
        return [] if isinstance(given, str) and len(found) > 0 else [f"{found!r:.60}"]
    if which == "sweep":
        return finite([trial.sent for trial in found if trial.plan is not None], "sent")
    if which in ("plan", "hardware"):
        return finite([found.memory, found.estimate], "plan")
    return finite(found, which)


def tried(number):
    """``(function, outcome, fault or None)``."""
    rng = random.Random(f"plan input {number}")
    which, given, run = call(rng)
    shown = (
        f"{which} of {given!r:.160}" if "0" * 300 not in repr(given)[:1000] else f"{which} of a large number"
    )
    asked = dict(given) if isinstance(given, dict) else given
    try:
        found = run()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        text, kinds = str(error), {kind.__name__ for kind in type(error).__mro__}
        if not kinds & set(MAY):
            return which, "fault", f"{shown}: {type(error).__name__}: {text:.200}"
        if type(error).__module__ == "builtins" and not any(word in text for word in WORDS):
            return which, "fault", f"{shown}: says not what it is about: {type(error).__name__}: {text:.200}"
        return which, "refused", None
    wrong = made_sense(which, asked, found)
    return which, "fault" if wrong else "right", f"{shown}: {'; '.join(wrong)}" if wrong else None


def main(argv=None):
    """Try as many as were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--from", dest="start", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    options = parser.parse_args(argv)
    counts, faults = collections.Counter(), 0
    for number in range(options.start, options.start + options.count):
        which, outcome, fault = tried(number)
        counts[which, outcome] += 1
        if fault:
            faults += 1
            print(f"FOUND {number}: {fault}", flush=True)
    for (which, outcome), count in sorted(counts.items()):
        print(f"{which}, {outcome}: {count}")
    print(f"{options.count} calls, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
