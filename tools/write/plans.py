"""Write docs/plans.md: plans of a decoder of 70e9 parameters for hardware that is not here, beside what was
published of such runs, and what small sums cost at a thousand devices.

    python tools/write/plans.py [--check] [a word of the rows to make]

The compilers of TPUs and GPUs have to be installed, as for the environments aot-tpu and aot-cuda: a minute or
two of processor time for each row. With a word the rows that have it are printed, and nothing is written.
"""

import dataclasses
import importlib.util
import math
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
it, `most` if nothing runs beside anything. Speeds are those that measurements reached (GPUs) or the published
peaks (TPUs). MFU is 6ND at the time `order` and the peak; `again` is how many times 6ND the products of the
compiled program are (attention, and what is computed again). 6ND is six operations for each parameter and
each token.
"""
PUBLISHED = """
## Beside published runs

The published time of a step should lie between `least` and `most`. `errors` are those of `least`, `order` and
`most`. The runs of MaxText and llm-foundry used a fused attention, which the example does not have: the last
column has the errors of `least` and `most` if one kernel did all that handles scores, at the speed of its
products, of which causality leaves out half; of pipelines that of `most`.

Nothing was fitted to these runs: speeds are other people's measurements of single kernels and links
(`rabbet_plan/hardware.py` has the sources). The tables of llm-foundry and of MaxText's configurations of v5e
and v5p were read when their rows were added. Each row of Megatron was compared with a transcription of the
article's table 1 (github.com/SotaroKaneda/MLCarbon, data/megatron_table.csv): sizes, devices, batches and
rates agree, so their errors are not of what was remembered. The numbers of parameters are those of the
example.

The runs of llm-foundry and Megatron add up gradients over small batches where the example takes the batch at
once, so its memory is larger than theirs. Megatron's times are counted from its formula of the operations
and the achieved rate: 96 B s l h² (1 + s/6h + V/16lh) for B sequences of s tokens, l layers of width h and V
words. MaxText's are counted from its rates by its own formula, 6ND and half of attention; there the example
takes queries in eight blocks, without which it does not fit.

Of a pipeline one stage is compiled, the last with its words, for one host, with one sequence and with two;
their difference is the time of a microbatch of one sequence, an assumption. A step is as many of them as
there are microbatches, and one less than there are stages for the bubbles, and a sum of the gradients over
the replicas at the end.
"""
SUMS = """
## Small sums at a thousand devices

How long 162 sums of an array over all devices take in all, by the model of `rabbet_plan/collective_times.py`.
"""


class Row(NamedTuple):
    """A plan. ``published`` are seconds of a step, of the ``source``. ``model``: sizes other than those of
    the 70e9 parameters. ``mesh``: the sizes of its axes; ``data`` cuts the weights, too, where ``whole`` is
    not set.
    """

    what: str
    topology: str
    mesh: dict
    batch: int
    length: int
    published: float | None = None
    source: str = ""
    model: dict | None = None
    whole: bool = False

    @property
    def devices(self):
        return math.prod(self.mesh.values())


def gpt(layers, width, heads, words):
    """The sizes of a decoder whose hidden units are four times its width."""
    return {
        "layers": layers, "width": width, "heads": heads, "head": width // heads, "hidden": 4 * width,
        "words": words,
    }  # fmt: skip


def of_megatron(billions, layers, width, heads, tensor, stages, devices, batch, rate):
    """A row of table 1 of the article on Megatron: ``rate`` operations were computed in each second. Of each
    replica one sequence is a microbatch.
    """
    words, length = 51200, 2048
    more = 1 + length / (6 * width) + words / (16 * layers * width)
    operations = 96 * batch * length * layers * width**2 * more
    data = devices // tensor // stages
    sizes = gpt(layers, width, heads, words)
    mesh, what = {"data": data, "model": tensor}, f"{devices:,} A100, {billions}B, {tensor} tensor parallel"
    if stages > 1:
        mesh, what = {"stage": stages, **mesh}, f"{what}, {stages} stages"
    source = f"Narayanan and others 2021, arXiv:2104.04473, table 1: {rate / 1e12:.0f} TFLOP/s"
    seconds = operations / devices / rate
    return Row(what, f"a100:{devices // 8}x8", mesh, batch, length, seconds, source, sizes, True)


def of_mosaic(billions, devices, batch, sizes, tokens):
    """A row of llm-foundry's table, in which a device trains with ``tokens`` in each second."""
    source = f"llm-foundry, scripts/train/benchmarking, H100 BF16: {tokens:,} tokens per second and device"
    seconds = batch * 2048 / devices / tokens
    mesh, topology = {"data": devices}, f"h100:{devices // 8}x8"
    return Row(f"{devices} H100, MPT {billions}B", topology, mesh, batch, 2048, seconds, source, sizes)


def of_maxtext(topology, mesh, billions, each, rate):
    """A row of MaxText's tables of TPU v5e and v5p (``MaxText/configs``): its sizes by
    ``global_parameter_scale``, ``each`` sequences of a device, ``rate`` operations in each second, counted as
    6ND and half of attention's. Its gated hidden units have three matrices, the example two with as many
    parameters in all.
    """
    turns, rest = divmod(int(math.log2(billions)), 3)
    heads, layers = 16 * 2 ** (turns + (rest > 0)), 16 * 2**turns
    width, hidden = 2048 * 2 ** (turns + (rest > 1)), 7168 * 2 ** (turns + (rest > 0))
    sizes = {
        "layers": layers, "width": width, "heads": heads, "head": 128, "hidden": hidden * 3 // 2,
        "words": 32000, "blocks": 8,
    }  # fmt: skip
    devices, length = math.prod(mesh.values()), 2048
    parameters = layers * width * (4 * heads * 128 + 3 * hidden) + 2 * 32000 * width
    operations = length * each * (6 * parameters + 6 * layers * heads * 128 * length)
    kind = topology.partition(":")[0]
    source = f"MaxText/configs/{kind}/README.md: {rate / 1e12:.0f} TFLOP/s; {billions}b.sh"
    what = f"{devices} {kind}, {billions}B"
    return Row(what, topology, mesh, each * devices, length, operations / rate, source, sizes)


ROWS = (
    Row("1,024 v5p", "v5p:8x8x16", {"data": 1024}, 1024, 4096),
    Row("1,024 H100", "h100:128x8", {"data": 1024}, 1024, 4096),
    Row(
        "64 H100", "h100:8x8", {"data": 64}, 128, 4096, 7.908,
        'NGC catalog, "Maxtext Llama2 70B 25.01.1 (DGXC Benchmarking)"',
    ),
    Row(
        "128 H100", "h100:16x8", {"data": 128}, 256, 8192, 15.570,
        'NGC catalog, "Maxtext Llama3 70B 25.02"',
    ),
    Row(
        "512 v5p", "v5p:8x8x8", {"data": 512}, 512, 4096, 4096 / 692,
        "MaxText documentation 0.2.0: 692 tokens per second and device; 1 sequence of each assumed",
    ),
    of_maxtext("v5e:16x16", {"data": 256}, 16, 6, 120e12),
    of_maxtext("v5e:16x16", {"data": 256}, 32, 4, 132e12),
    of_maxtext("v5e:16x16", {"data": 256}, 64, 2, 118e12),
    # Its run of 128e9 parameters on v5e keeps products in the host's memory, which the example does not.
    # Its runs of v5p save products. With what the example holds beside them the one of 32e9 parameters has no
    # room; those of more were not tried.
    # One batch of each device at a time, in several of which a step of llm-foundry adds up gradients.
    of_mosaic(70, 64, 8 * 64, gpt(80, 8192, 64, 50368), 1039),
    of_mosaic(30, 32, 14 * 32, gpt(48, 7168, 56, 50368), 2308),
    of_megatron(7.5, 36, 4096, 32, 4, 1, 128, 512, 142e12),
    of_megatron(18.4, 40, 6144, 48, 8, 1, 256, 1024, 135e12),
    of_megatron(39.1, 48, 8192, 64, 8, 2, 512, 1536, 138e12),
    of_megatron(76.1, 60, 10240, 80, 8, 4, 1024, 1792, 140e12),
    of_megatron(145.6, 80, 12288, 96, 8, 8, 1536, 2304, 148e12),
    of_megatron(310.1, 96, 16384, 128, 8, 16, 1920, 2160, 155e12),
    of_megatron(529.6, 105, 20480, 128, 8, 35, 2520, 2520, 163e12),
    of_megatron(1008.0, 128, 25600, 160, 8, 64, 3072, 3072, 163e12),
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
    from rabbet.sharding import PartitionSpec as P

    sizes = dataclasses.replace(train.LARGE, batch=row.batch, length=row.length, **row.model or {})
    cuts = train.cuts(None if row.whole else "data", "model" if "model" in row.mesh else None)
    layout = train.Layout(row.mesh, cuts, P("data"), sizes=sizes)
    mesh = planning.topology(row.topology).mesh(row.mesh)
    step = train.jitted(mesh, layout, sizes)
    return planning.plan(step, *train.types(mesh, layout, sizes)), sizes


class Piped(NamedTuple):
    """A plan of a stage of a pipeline, and the seconds of a step of the whole."""

    stage: object
    least: float
    order: float
    most: float
    fused: float


def of_pipeline(train, row):
    """``Piped``, and the sizes of the model. Two programs are compiled for a host: the last stage, which has
    the words, with one sequence and with two. Their difference is the time of a sequence, of which each
    replica has as many as microbatches; the stages wait for ``stages - 1`` more (``planning.bubbles_of``).
    Then gradients are summed over the replicas, hosts apart. In ``most`` values between stages are waited
    for, a part of them sent by each of the tensor parallel devices, forth and back.
    """
    from rabbet_plan.collective_times import Layout, seconds_in
    from rabbet_plan.collectives import Collective, sent_by_ring

    stages, data, tensor = row.mesh["stage"], row.mesh["data"], row.mesh["model"]
    part = {**row.model, "layers": row.model["layers"] // stages}
    one, two = [
        planned(
            train,
            row._replace(topology=f"a100:{tensor}", mesh={"data": 1, "model": tensor}, batch=n, model=part),
        )
        for n in (1, 2)
    ]
    hardware = one[0].hardware.sustained()
    size = 2 * one[1].parameters // tensor
    sent = sent_by_ring("all-reduce", data, size)
    sums = Collective("all-reduce", (), (), data, size, sent, 1, True, ("bf16",), "", "")
    summed = seconds_in(sums, hardware, Layout(data, 1, ())) if data > 1 else 0.0
    between = 2 * 2 * row.length * row.model["width"] / tensor / hardware.network
    rounds = row.batch // data + stages - 1

    def whole(seconds, more=0.0):
        first, second = [seconds(found, sizes) for found, sizes in (one, two)]
        each = second - first
        return first - each + rounds * (each + more)

    most = lambda found, _: found.estimate.most
    communication = lambda found: sum(found.estimate.communication.values())
    fused = lambda found, sizes: with_fused_attention(found, sizes) + communication(found)
    sizes = dataclasses.replace(one[1], layers=row.model["layers"])
    least = whole(lambda found, _: found.estimate.least)
    order = whole(lambda found, _: found.overlap.seconds) + summed
    return Piped(one[0], least, order, whole(most, between) + summed, whole(fused, between) + summed), sizes


def with_fused_attention(found, sizes):
    """Seconds of a step's arithmetic if attention were one kernel that leaves out what lies ahead: of all
    that handles scores, one for each pair of tokens, half of the products' time is left.
    """
    from rabbet_plan.arithmetic import products
    from rabbet_plan.estimate import durations
    from rabbet_plan.execution_counts import inside, steps

    hardware = found.hardware.sustained()
    whole = 0.0
    for step in steps(found.module):
        parts = list(inside(step.instruction))
        shapes = [a for i in parts for v in (i, *i.operands) for a in v.shape.arrays]
        if any(of_scores(list(a.dimensions), sizes) for a in shapes):
            whole += step.times * sum(map(products, parts)) / 2 / hardware.speed("bf16")
        else:
            whole += step.times * max(durations(step.instruction, hardware))
    return whole


def of_scores(dimensions, sizes):
    """Whether an array has a number for each of many pairs of tokens."""
    if sizes.length not in dimensions:
        return False
    dimensions.remove(sizes.length)
    return sizes.length // sizes.blocks in dimensions


def line(row, found, sizes):
    """A row of the table."""
    piped = isinstance(found, Piped)
    part = found.stage if piped else found
    e, tokens, sent = part.estimate, row.batch * row.length, sum(part.estimate.communication.values())
    least, order, most = found[1:4] if piped else (e.least, part.overlap.seconds, e.most)
    peak = part.hardware.speed("bf16")
    used = 6 * sizes.parameters * tokens / (order * row.devices * peak)
    again = part.matrix_flops * row.devices / (6 * sizes.parameters * tokens)
    memory = f"{part.memory.needed / 2**30:.1f} of {part.capacity / 2**30:.0f} GiB"
    bytes_sent = sum(part.bytes_by_axis("sent").values()) / 1e9
    cells = [
        row.what, f"{row.batch:,} of {row.length:,}", "" if piped else memory,
        "" if piped else f"{bytes_sent:.1f} GB", f"{least:.2f} s", f"{order:.2f} s", f"{most:.2f} s",
        f"{used:.1%}", "" if piped else f"{again:.2f}",
    ]  # fmt: skip
    if row.published:
        told = lambda *times: ", ".join([f"{t / row.published - 1:+.1%}" for t in times])
        cells += [f"{row.published:.2f} s ({row.source})", told(least, order, most)]
        fused = None if piped else with_fused_attention(part, sizes)
        cells.append(told(found.fused) if piped else told(max(fused, sent), fused + sent))
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


def page(plans, compared):
    """The page, of the rows of its two tables of plans."""
    beside = heading("published", "errors", "with fused attention")
    parts = (HEAD.rstrip("\n"), *heading(), *plans, PUBLISHED.rstrip("\n"), *beside, *compared)
    return "\n".join([*parts, SUMS.rstrip("\n"), *sums(), ""])


def main(arguments):
    chosen = [word for word in arguments if word != "--check"]
    train, tables = decoder(), ([], [])
    for row in ROWS:
        if all(word in row.what for word in chosen):
            begun = time.process_time()
            made = of_pipeline(train, row) if "stage" in row.mesh else planned(train, row)
            tables[row.published is not None].append(line(row, *made))
            print(tables[row.published is not None][-1], f"{time.process_time() - begun:.0f} s", flush=True)
    text = page(*tables)
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
