"""What makers publish of their hardware: memory, and the speeds of arithmetic, memory and links.

All speeds are peaks that no program reaches. ``Reached`` says what measurements reached of them, where some
were found; ``estimate`` computes with that. Each row's ``source`` names where its numbers can be found, and
which of them are assumed. The sources of the peaks could not be opened while the table was written, so these
have not been compared with their sources; those of ``Reached`` were read. Of each device:

- TPU v4 and later: https://cloud.google.com/tpu/docs, the page of each generation (arithmetic, memory and its
  bandwidth, bandwidth between chips). The bandwidth of one link in one direction is that between chips over
  the number of links: 4 of v5e and v6e, 6 of the others. The network between slices, for each chip, is of
  "How to Scale Your Model" (https://jax-ml.github.io/scaling-book, the chapter "How to think about TPUs").
- TPU v2 and v3: Jouppi and others, "A domain-specific supercomputer for training deep neural networks",
  Communications of the ACM 63 (2020). A device is a core there, and of TPU v4, as libtpu's topologies have
  it, and of TPU7x a chiplet: half of a chip.
- NVIDIA A100: "NVIDIA A100 Tensor Core GPU" data sheet, 2021 (SXM; without sparsity). Network: DGX A100 data
  sheet, one 200 Gb/s adapter for each GPU.
- To the host's memory: PCIe 4 of the A100 and PCIe 5 of the others, one way, by their data sheets; of TPUs
  it is assumed.
- NVIDIA H100, H200: "NVIDIA H100 Tensor Core GPU" and "H200" data sheets, 2023 and 2024 (SXM; half of the
  figures, which are with sparsity). Network: DGX H100 and H200 data sheets, one 400 Gb/s adapter for each
  GPU.

What was reached, in programs that do nothing else (of TPUs no such measurement was found, so their peaks are
taken):

- products: the best of many shapes by mamf-finder, in "Machine Learning Engineering" (stas00/ml-engineering,
  compute/accelerator; two editions): 267.9 of 312 TFLOP/s (A100), 794.5 of 989 (H100 and H200).
- links: NCCL counts 20 of 25 GB/s for a link of an A100 and 20.6 of 25 for one of an H100 (src/graph/topo.h);
  its maintainer gives 370 of 450 GB/s for the links of an H100 (NVIDIA/nccl-tests, issue 212).
- network: 23.5 of 25 GB/s of ConnectX-6 and 48.5 of 50 of ConnectX-7 (aliyun/SimAI, calbusbw.h).
- memory: nine tenths for large arrays (calculon-ai/calculon, systems/a100_80g.json and h100_80g_nvl8.json).
- ``units``, on which a product's parts are computed: multiprocessors by NVIDIA's white papers of the A100 and
  H100 architectures; these were not opened.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from rabbet.errors import ConfigError

from rabbet_plan.given import number

GIB = 1 << 30
GB = 1e9
TERA = 1e12


class Reached(NamedTuple):
    """What measurements reached of the peaks: shares of ``products``, ``memory``, ``link`` and ``network``;
    on how many ``units`` the parts of a product are computed, 0 where that is not modelled; and the
    ``source``.
    """

    products: float = 1.0
    memory: float = 1.0
    link: float = 1.0
    network: float = 1.0
    units: int = 0
    source: str = ""


PEAK = Reached()


@dataclass(frozen=True)
class Hardware:
    """One device and its links.

    Attributes:
      name, title: as topologies call it, and as its maker does.
      memory: bytes.
      bandwidth: of the memory, bytes per second.
      matrix: operations per second of matrix products by the type of their operands, as XLA writes it.
      other: operations per second of all else.
      link: bytes per second in one direction of one link within a host (GPU) or slice (TPU).
      links: how many links a group that lies along one direction can use at a time, both ways counted.
      network: bytes per second of one device to other hosts (GPU) or slices (TPU).
      latency, network_latency: seconds from one device to the next; rules of thumb, not published.
      host: bytes per second between a device's memory and its host's, in one direction.
      source: where the numbers are from: whose publication, and which of them are assumed.
      measured: what is known of the error of estimates.
      reached: a ``Reached``, what measurements reached of these peaks.

    Speeds are at least 1, and finite but for links; latencies finite and not negative; else ``ConfigError``.

    Example:
      >>> import dataclasses
      >>> from rabbet import planning
      >>> slower = dataclasses.replace(planning.hardware_of("v5e"), bandwidth=400e9)
      >>> slower.speed("bf16") > slower.speed("f64")
      True
    """

    name: str
    title: str
    memory: int
    bandwidth: float
    matrix: dict[str, float]
    other: float
    link: float
    links: int
    network: float
    latency: float
    network_latency: float
    source: str
    host: float = 16e9
    measured: str = "not compared with runs on this hardware"
    reached: Reached = PEAK

    def __post_init__(self) -> None:
        for name in ("memory", "bandwidth", "other", "links", "host"):
            number("Hardware", name, getattr(self, name), 1)
        for name in ("link", "network"):  # infinite where there is none
            number("Hardware", name, getattr(self, name), 1, math.inf)
        for name in ("latency", "network_latency"):
            number("Hardware", name, getattr(self, name))
        if not isinstance(self.matrix, dict):
            kind = type(self.matrix).__name__
            raise ConfigError(f"Hardware: matrix is a dict of speeds by the type of operands, got {kind}")
        for dtype, speed in self.matrix.items():
            number("Hardware", f"matrix[{dtype!r}]", speed, 1)

    def sustained(self) -> Hardware:
        """The same with the speeds that measurements reached in the place of the peaks."""
        r = self.reached
        return replace(
            self, bandwidth=self.bandwidth * r.memory, link=self.link * r.link,
            matrix={dtype: speed * r.products for dtype, speed in self.matrix.items()},
            network=self.network * r.network, reached=Reached(units=r.units, source=r.source),
        )  # fmt: skip

    def speed(self, dtype: str) -> float:
        """Operations per second of matrix products of a type; of one that is not listed, as ``other``."""
        if dtype in self.matrix:
            return self.matrix[dtype]
        for prefix in ("f8", "s", "u"):
            if dtype.startswith(prefix):
                return self.matrix.get({"f8": "f8", "s": "s8", "u": "s8"}[prefix], self.other)
        return self.other


def tpu(
    name, title, memory, bandwidth, bf16, int8, link, network=6.25 * GB, f8=None, source="", assumed=""
) -> Hardware:
    """A TPU. Products of f32 are those of bf16, as its default precision has it; arithmetic that is no
    product is done by its vector units, for which nothing is published: a fiftieth is taken. ``assumed``:
    what is not published, or could not be made sure of.
    """
    matrix = {"bf16": bf16, "f32": bf16, "f16": bf16, "s8": int8, "f8": f8 or bf16}
    source = source or f"Google Cloud TPU documentation, page {title}"
    source += "" if "network" in assumed else "; network: How to Scale Your Model"
    source += f"; assumed: vector units{assumed and ', '}{assumed}, latency, link to the host"
    return Hardware(name, title, memory, bandwidth, matrix, bf16 / 50, link, 2, network, 1e-6, 10e-6, source)


def gpu(
    name, title, memory, bandwidth, bf16, tf32, f32, f64, int8, link, network, host, reached, f8=None
) -> Hardware:
    """A GPU of NVIDIA. Products of f32 run as TF32, XLA's default. ``host``: half of PCIe's both ways."""
    matrix = {"bf16": bf16, "f16": bf16, "f32": tf32, "f64": f64, "s8": int8, "f8": f8 or bf16}
    source = f"NVIDIA {title} data sheet; network: NVIDIA DGX data sheet; assumed: latency"
    return Hardware(
        name, title, memory, bandwidth, matrix, f32, link, 1, network, 3e-6, 10e-6, source, host,
        reached=reached,
    )  # fmt: skip


READ = "measured: ml-engineering (products), NCCL (links), SimAI (network), calculon (memory)"
AMPERE = Reached(267.9 / 312, 0.9, 20 / 25, 23.5 / 25, 108, READ)
HOPPER = Reached(794.5 / 989, 0.9, 370 / 450, 48.5 / 50, 132, READ)
JOUPPI = "Jouppi and others, Communications of the ACM 63 (2020)"
TABLE = {
    each.name: each
    for each in (
        tpu(
            "v2", "TPU v2, a core", 8 * GIB, 350 * GB, 23 * TERA, 23 * TERA, 62 * GB / 2, source=JOUPPI,
            assumed="int8, network",
        ),
        tpu(
            "v3", "TPU v3, a core", 16 * GIB, 450 * GB, 61.5 * TERA, 61.5 * TERA, 82 * GB / 2,
            source=JOUPPI, assumed="int8, network",
        ),
        tpu(
            "v4", "TPU v4, a core", 16 * GIB, 614 * GB, 137.5 * TERA, 137.5 * TERA, 50 * GB / 2,
            assumed="network",
        ),
        tpu("v5e", "TPU v5e", 16 * GIB, 819 * GB, 197 * TERA, 394 * TERA, 50 * GB, 3.125 * GB),
        tpu("v5p", "TPU v5p", 95 * GIB, 2765 * GB, 459 * TERA, 918 * TERA, 100 * GB),
        tpu("v6e", "TPU v6e", 32 * GIB, 1640 * GB, 918 * TERA, 1836 * TERA, 112 * GB, 12.5 * GB),
        tpu(
            "tpu7x", "TPU7x, a chiplet", 96 * GIB, 3690 * GB, 1153.5 * TERA, 1153.5 * TERA, 50 * GB,
            f8=2307 * TERA, assumed="int8 (as bf16), links, network",
        ),
        gpu(
            "a100", "A100 80GB", 80 * GIB, 2039 * GB, 312 * TERA, 156 * TERA, 19.5 * TERA, 19.5 * TERA,
            624 * TERA, 300 * GB, 25 * GB, 32 * GB, AMPERE,
        ),
        gpu(
            "a100-40gb", "A100 40GB", 40 * GIB, 1555 * GB, 312 * TERA, 156 * TERA, 19.5 * TERA, 19.5 * TERA,
            624 * TERA, 300 * GB, 25 * GB, 32 * GB, AMPERE,
        ),
        gpu(
            "h100", "H100 SXM", 80 * GIB, 3352 * GB, 989.5 * TERA, 494.7 * TERA, 67 * TERA, 67 * TERA,
            1979 * TERA, 450 * GB, 50 * GB, 64 * GB, HOPPER, f8=1979 * TERA,
        ),
        gpu(
            "h200", "H200 SXM", 141_000_000_000, 4800 * GB, 989.5 * TERA, 494.7 * TERA, 67 * TERA, 67 * TERA,
            1979 * TERA, 450 * GB, 50 * GB, 64 * GB, HOPPER, f8=1979 * TERA,
        ),
    )
}  # fmt: skip


def hardware_of(topology: str) -> Hardware | None:
    """The hardware that a topology's name begins with; None for one of which nothing is published.

    Example:
      >>> from rabbet import planning
      >>> planning.hardware_of("v5e:2x4").memory >> 30
      16
    """
    if not isinstance(topology, str):
        raise ConfigError(f"hardware_of takes a topology's name, a text, got {topology!r:.60}")
    found = re.match(r"[\w-]+", topology)
    return TABLE.get(found[0].lower()) if found else None


__all__ = ["TABLE", "Hardware", "Reached", "hardware_of"]
