"""Write docs/plans.md: plans of a decoder of 70e9 parameters for hardware that is not here, beside what was
published of such runs, and what small sums cost at a thousand devices.

    python tools/write/plans.py [--check] [a word of the rows to make]

The compilers of TPUs and GPUs have to be installed, as for the environments aot-tpu and aot-cuda: a minute or
two of processor time for each row. With a word the rows that have it are printed, and nothing is written.
"""

import dataclasses
import importlib.util
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/plans.md"
HEAD = """\
# Plans of large models

Made by `tools/write/plans.py`; do not edit. The decoder of `examples/large/train.py` with 70e9 parameters, in
the layout `fsdp`, each layer computed again, plain attention, compiled for hardware that is not here. `least`
is the time of a step if all communication runs beside arithmetic, `order` if it runs as the compiler ordered
it, `most` if nothing runs beside anything. MFU is 6ND at the time `order`; `again` is how many times 6ND the
products of the compiled program are (attention, and what is computed again). 6ND is six operations for each
parameter and each token.
"""
PUBLISHED = """
## Beside published runs

The published time of a step should lie between `least` and `most`. The runs of MaxText and llm-foundry used a
fused attention, which the example does not have. `errors` are those of `least`, `order` and `most`. The table
of llm-foundry was read when its rows were added; nothing else was looked up again when this page was made.
The numbers of parameters are those of the example.

The runs of llm-foundry and Megatron add up gradients over small batches where the example takes the batch at
once, so its memory is larger than theirs. Megatron's times are counted from its formula of the operations
and the achieved rate: 96 B s l h² (1 + s/6h + V/16lh) for B sequences of s tokens, l layers of width h and V
words.
"""
SUMS = """
## Small sums at a thousand devices

How long 162 sums of an array over all devices take in all, by the model of `rabbet_plan/collective_times.py`.
"""


class Row(NamedTuple):
    """A plan. ``published`` are seconds of a step, of the ``source``. ``model``: layers, width, heads and
    words of another one than the 70e9 parameters, whose weights are cut over ``tensor`` of the devices.
    """

    what: str
    topology: str
    devices: int
    batch: int
    length: int
    published: float | None = None
    source: str = ""
    model: tuple[int, int, int, int] | None = None
    tensor: int = 1


def of_megatron(what, batch, model, tensor, devices, rate):
    """A row of table 1 of the article on Megatron: ``rate`` operations were computed in each second."""
    layers, width, _, words = model
    length = 2048
    more = 1 + length / (6 * width) + words / (16 * layers * width)
    operations = 96 * batch * length * layers * width**2 * more
    source = f"Narayanan and others 2021, arXiv:2104.04473, table 1: {rate / 1e12:.0f} TFLOP/s"
    topology = f"a100:{devices // 8}x8"
    return Row(what, topology, devices, batch, length, operations / devices / rate, source, model, tensor)


def of_mosaic(what, devices, batch, model, tokens):
    """A row of llm-foundry's table, in which a device trains with ``tokens`` in each second."""
    source = f"llm-foundry, scripts/train/benchmarking, H100 BF16: {tokens:,} tokens per second and device"
    topology = f"h100:{devices // 8}x8"
    return Row(what, topology, devices, batch, 2048, batch * 2048 / devices / tokens, source, model)


ROWS = (
    Row("1,024 v5p", "v5p:8x8x16", 1024, 1024, 4096),
    Row("1,024 H100", "h100:128x8", 1024, 1024, 4096),
    Row(
        "64 H100", "h100:8x8", 64, 128, 4096, 7.908,
        'NGC catalog, "Maxtext Llama2 70B 25.01.1 (DGXC Benchmarking)"',
    ),
    Row("128 H100", "h100:16x8", 128, 256, 8192, 15.570, 'NGC catalog, "Maxtext Llama3 70B 25.02"'),
    Row(
        "512 v5p", "v5p:8x8x8", 512, 512, 4096, 4096 / 692,
        "MaxText documentation 0.2.0: 692 tokens per second and device; 1 sequence of each assumed",
    ),
    # One batch of each device at a time, in several of which a step of llm-foundry adds up gradients.
    of_mosaic("64 H100, MPT 70B", 64, 8 * 64, (80, 8192, 64, 50368), 1039),
    of_mosaic("32 H100, MPT 30B", 32, 14 * 32, (48, 7168, 56, 50368), 2308),
    of_megatron("128 A100, 7.5B, 4 tensor parallel", 512, (36, 4096, 32, 51200), 4, 128, 142e12),
    of_megatron("256 A100, 18.4B, 8 tensor parallel", 1024, (40, 6144, 48, 51200), 8, 256, 135e12),
)  # fmt: skip


def decoder():
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("large_train", ROOT / "examples/large/train.py")
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def planned(train, row):
    """The plan of a row, and the sizes of its model."""
    from rabbet import planning

    sizes = dataclasses.replace(train.LARGE, batch=row.batch, length=row.length)
    if row.model:
        layers, width, heads, words = row.model
        sizes = dataclasses.replace(
            sizes, layers=layers, width=width, heads=heads, head=width // heads, hidden=4 * width, words=words
        )
    axes = {"data": row.devices // row.tensor, "fsdp": 1, "model": row.tensor}
    mesh = planning.topology(row.topology).mesh(axes)
    step, arguments = train.plan(mesh, "tensor" if row.tensor > 1 else "fsdp", "all", sizes)
    return planning.plan(step, *arguments), sizes


def line(row, found, sizes):
    """A row of the table."""
    e, tokens = found.estimate, row.batch * row.length
    order = found.overlap.seconds
    peak = found.hardware.speed("bf16")
    used = 6 * sizes.parameters * tokens / (order * row.devices * peak)
    again = found.matrix_flops * row.devices / (6 * sizes.parameters * tokens)
    memory = f"{found.memory.needed / 2**30:.1f} of {found.capacity / 2**30:.0f} GiB"
    sent = sum(found.bytes_by_axis("sent").values()) / 1e9
    cells = [
        row.what, f"{row.batch:,} of {row.length:,}", memory, f"{sent:.1f} GB",
        f"{e.least:.2f} s", f"{order:.2f} s", f"{e.most:.2f} s", f"{used:.1%}", f"{again:.2f}",
    ]  # fmt: skip
    if row.published:
        errors = ", ".join([f"{t / row.published - 1:+.1%}" for t in (e.least, order, e.most)])
        cells += [f"{row.published:.2f} s ({row.source})", errors]
    return f"| {' | '.join(cells)} |"


def heading(*more):
    names = ("devices", "sequences", "memory", "sent by one", "least", "order", "most", "MFU", "again", *more)
    return ["", f"| {' | '.join(names)} |", "|---" * len(names) + "|"]


def sums():
    """The table of small sums."""
    from rabbet_plan.collective_times import Layout, seconds_in
    from rabbet_plan.collectives import Collective, sent_by_ring
    from rabbet_plan.hardware import TABLE

    lines = ["", "| devices | 4 KiB | 256 KiB | 2.5 MiB |", "|---|---|---|---|"]
    places = (
        ("1,024 H100: 128 hosts of 8", "h100", Layout(128, 8, ())),
        ("1,024 A100: 128 hosts of 8", "a100", Layout(128, 8, ())),
        ("1,024 v5p: a torus of 8x8x16", "v5p", Layout(1, 1024, (8, 8, 16))),
        ("1,024 v5e: 4 slices of 16x16", "v5e", Layout(4, 256, (16, 16))),
    )
    for what, name, layout in places:
        cells = [what]
        for size in (4096, 256 << 10, 5 << 19):
            sent = sent_by_ring("all-reduce", 1024, size)
            each = Collective("all-reduce", (), (), 1024, size, sent, 162, True, ("f32",), "", "")
            cells.append(f"{162 * seconds_in(each, TABLE[name], layout) * 1e3:.1f} ms")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def main(arguments):
    chosen = [word for word in arguments if word != "--check"]
    train, tables = decoder(), ([], [])
    for row in ROWS:
        if all(word in row.what for word in chosen):
            begun = time.process_time()
            tables[row.published is not None].append(line(row, *planned(train, row)))
            print(tables[row.published is not None][-1], f"{time.process_time() - begun:.0f} s", flush=True)
    text = "\n".join([
        HEAD.rstrip("\n"), *heading(), *tables[0], PUBLISHED.rstrip("\n"), *heading("published", "errors"),
        *tables[1], SUMS.rstrip("\n"), *sums(), "",
    ])  # fmt: skip
    if chosen:
        return 0
    if "--check" in arguments:
        if PAGE.read_text() != text:
            print("docs/plans.md is out of date: run python tools/write/plans.py", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
