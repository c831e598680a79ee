"""Exported programs and SavedModels that are not what they should be: a clear error, or the right values.

    python tools/check/fuzz/exported_programs.py --count 500
    python tools/check/fuzz/exported_programs.py --from 17 --count 1      # one, with its number

A few programs are exported: with symbolic dimensions, for several platforms, with derivatives, with trees.
Their bytes are changed, with the old checksum, with none, or with a new one that is right, as somebody
would write it who forges them. What can be read is called, differentiated, serialized again, and written as
a SavedModel. Sound programs are written as SavedModels with odd names, tags and folders, and read back. A
fault: the process ends or hangs, an error that is none of Rabbet's, changed bytes that are accepted under
their old checksum, a result of another type than the program says, a SavedModel that does not say what was
asked for.
"""

import argparse
import collections
import functools
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

BATCH, SECONDS = 25, 400
NAMES = (
    "x",
    "",
    "a b",
    "a/b",
    "é",
    "\0",
    "\udcff",
    "x" * 5000,
    "x\n",
    None,
    3,
    b"x",
    ("x",),
    "input:0",
    "^x",
)
# What may be raised; the rest says nothing to whoever called.
MAY = (
    "ExportError",
    "CompileError",
    "ConfigError",
    "FileExistsError",
    "NotADirectoryError",
    "PermissionError",
)
MARK = b"RABBET-SHA256\n"


@functools.cache
def programs():
    """``(bytes, arguments, results)`` of sound programs."""
    import numpy as np
    import rabbet as rb
    import rabbet.numpy as rnp
    from rabbet import export

    (b,) = export.symbolic_shape("b")
    struct, x = rb.ShapeDtypeStruct, np.arange(3, dtype="float32")
    tree = lambda t, x: {"y": rnp.tanh(x) * t["s"], "n": [rnp.argmax(x, -1)]}
    scale = {"s": np.float32(2)}
    found = [
        (export.export(rb.jit(lambda x: {"a": rnp.sin(x), "b": [x]}))(x), (x,)),
        (export.export(rb.jit(tree))({"s": struct((), "float32")}, struct((b, 3), "float32")),
         (scale, x[None])),
        (export.export(rb.jit(lambda x: x @ x.T), platforms=("cpu", "cuda"))(struct((2, 3), "bfloat16")),
         (np.ones((2, 3), "bfloat16"),)),
    ]  # fmt: skip
    made = [(bytes(one.serialize(vjp_order=i < 2)), args) for i, (one, args) in enumerate(found)]
    return [(content, args, values(export.deserialize(content).call(*args))) for content, args in made]


def values(found):
    import numpy as np
    import rabbet as rb

    return [(str(leaf.dtype), np.asarray(leaf).tolist()) for leaf in rb.tree.leaves(found)]


def changed(content, rng):
    """The bytes, changed somewhere: bits, a block, a number, the length."""
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 3, 20])):
        if not content:
            break
        at = rng.randrange(len(content))
        how = rng.randrange(6)
        if how <= 1:
            content[at] ^= 1 << rng.randrange(8)
        elif how == 2:
            content[at : at + 4] = rng.choice([0, 1, 2**31 - 1, 2**32 - 1, at]).to_bytes(4, "little")
        elif how == 3:
            content[at : at + rng.randrange(1, 40)] = b""
        elif how == 4:
            other = rng.randrange(len(content))
            content[at : at + 24] = content[other : other + 24]
        else:
            content = content[: max(at, 8)]
    return bytes(content)


def artifact(rng):
    """``(way, outcome, fault or None)`` of changed bytes."""
    import rabbet as rb
    from rabbet import export

    content, args, wanted = rng.choice(programs())
    body, checksum = content[: content.rindex(MARK)], content[content.rindex(MARK) :]
    way = rng.choice(["old checksum", "no checksum", "new checksum", "new checksum"])
    other = changed(body, rng)
    if way == "new checksum":
        checksum = MARK + hashlib.sha256(other).digest()
    blob = other + (b"" if way == "no checksum" else checksum)
    read = export.deserialize(blob)
    if way == "old checksum" and other != body:
        return way, "fault", "changed bytes are accepted under their old checksum"
    then = rng.choice(["call", "call", "jit", "vjp", "again", "saved model"])
    if then == "again":
        export.deserialize(read.serialize())
    elif then == "saved model":
        with tempfile.TemporaryDirectory() as folder:
            export.write_saved_model(read, Path(folder) / "model")
    elif then == "vjp":
        read.vjp().mlir_module()
    else:
        call = rb.jit(read.call) if then == "jit" else read.call
        if rb.tree.structure((args, {})) != read.in_tree:
            return way, "read", None
        found = call(*args)
        said = [str(aval.dtype) for aval in read.out_avals]
        if [dtype for dtype, _ in values(found)] != said:
            return way, "fault", f"results {values(found)!r:.100}, and the program says {said}"
        if other == body and values(found) != wanted:
            return way, "fault", f"{values(found)!r:.100}"
    return way, "read", None


def fields(data):
    """A message of protocol buffers, as a dict from numbers to lists of values."""
    found, at = {}, 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 128:
                return value

    while at < len(data):
        key, value = number(), number()
        if key & 7 == 2:
            value, at = data[at : at + value], at + value
        found.setdefault(key >> 3, []).append(value)
    return found


def saved_model(rng):
    """``(way, outcome, fault or None)`` of a SavedModel with odd names."""
    from rabbet import export

    content, _, _ = rng.choice(programs())
    program = export.deserialize(content)
    given, what = {}, program
    odd = lambda n: rng.choice([[rng.choice(NAMES) for _ in range(n)], rng.choice(NAMES), None, []])
    for _ in range(rng.choice([1, 1, 2])):
        which = rng.choice(["input_names", "output_names", "tags", "signatures"])
        if which == "signatures":
            what = rng.choice(
                [{rng.choice(NAMES): program}, {"a": program, "b": program}, {}, None, {"a": None}]
            )
        elif which == "tags":
            given[which] = odd(1) or ["serve"]
        else:
            given[which] = odd(len(program.in_avals if which == "input_names" else program.out_avals))
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        where = rng.choice(["new", "new", "file", "nested", "taken"])
        if where == "file":
            folder.write_text("here")
        elif where == "taken":
            folder.mkdir()
            (folder / "saved_model.pb").write_text("here")
        path = folder / "a" / "b" if where == "nested" else folder
        try:
            export.write_saved_model(what, path, **given)
        except BaseException:
            left = [p.name for p in path.iterdir()] if path.is_dir() else []
            if where == "taken":
                left.remove("saved_model.pb")
            if left:
                return "saved model", "fault", f"{given!r:.100} left {left}"
            raise
        if where in ("file", "taken"):
            return "saved model", "fault", "it was written over what was there"
        meta = fields(fields((path / "saved_model.pb").read_bytes())[2][0])
    tags = [tag.decode() for tag in fields(meta[1][0]).get(4, [])]
    signatures = {fields(one)[1][0].decode(): fields(fields(one)[2][0]) for one in meta[5]}
    wanted = list(what) if isinstance(what, dict) else ["serving_default"]
    if tags != list(given.get("tags", ["serve"])) or sorted(signatures) != sorted(wanted):
        return "saved model", "fault", f"{given!r:.100}: tags {tags}, signatures {sorted(signatures)}"
    for part, name in ((1, "input_names"), (2, "output_names")):
        names = [fields(one)[1][0].decode() for one in signatures[wanted[0]].get(part, [])]
        if given.get(name) is not None and names != list(given[name]):
            return "saved model", "fault", f"{given!r:.100}: {name} {names}"
    return "saved model", "written", None


def tried(number):
    rng = random.Random(f"exported program {number}")
    one = saved_model if number % 2 else artifact
    try:
        return one(rng)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        kinds = {kind.__name__ for kind in type(error).__mro__}
        ours = "rabbet" in type(error).__module__ or "write_saved_model" in str(error)
        if kinds & set(MAY) or (ours and str(error).strip()):
            return one.__name__, "refused", None
        return one.__name__, "fault", f"{type(error).__name__}: {error!s:.300}"


def batch(start, count):
    programs()
    for number in range(start, start + count):
        print(json.dumps(["at", number]), flush=True)
        print(json.dumps([number, *tried(number)]), flush=True)


def main(argv=None):
    """Try as many as were asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--from", dest="start", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--batch", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.batch:
        return batch(options.start, options.count)
    counts, faults = collections.Counter(), []
    number, end = options.start, options.start + options.count
    while number < end:
        command = [
            sys.executable,
            __file__,
            "--batch",
            "--from",
            str(number),
            "--count",
            str(min(BATCH, end - number)),
        ]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, errors="replace", timeout=SECONDS,
                env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
            )  # fmt: skip
            out, trouble = done.stdout, done.returncode and f"{done.returncode}: {done.stderr[-500:]}"
        except subprocess.TimeoutExpired as error:
            out, trouble = (error.stdout or b"").decode(errors="replace"), f"no end in {SECONDS} s"
        at = number - 1
        for line in out.splitlines():
            if line.startswith('["at"'):
                at = json.loads(line)[1]
            elif line.startswith("["):
                at, way, outcome, fault = json.loads(line)
                counts[way, outcome] += 1
                faults += [f"{at}: {way}: {fault}"] if fault else []
        if trouble:
            faults.append(f"{at}: the process ended with {trouble}")
            counts["any", "fault"] += 1
        number = max(at, number) + 1
    for (way, outcome), count in sorted(counts.items()):
        print(f"{way}, {outcome}: {count}")
    print(*(f"FOUND {fault}" for fault in faults), sep="\n")
    print(f"{sum(counts.values())} programs, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
