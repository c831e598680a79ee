"""What hooks are told, as values with types and units: times in seconds, sizes in bytes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

COLLECTIVES = (
    "all_gather", "all_reduce", "all_to_all", "collective_broadcast", "collective_permute", "reduce_scatter",
)  # fmt: skip
WRITTEN = re.compile(r"stablehlo\.(" + "|".join(COLLECTIVES) + r")\b")


@dataclass(frozen=True)
class PassRun:
    """One pass over one program.

    Args:
      name: the pass.
      program: the name of the program, that of the function.
      where: the first line of the user's in it, ``"model.py:12"``, or "".
      platform: what the program is for.
      seconds: how long the pass took, over the programs within the program too.
      before, after: equations of the program, those of its bodies included.

    Example:
      >>> from rabbet.extend.hooks import PassRun
      >>> PassRun("cse", "step", "model.py:12", "cpu", 0.002, 40, 36).after
      36
    """

    name: str
    program: str
    where: str
    platform: str
    seconds: float
    before: int
    after: int


@dataclass(frozen=True)
class CompiledProgram:
    """A program that is ready to run.

    Args:
      name: the name of the program, that of the function.
      where: the first line of the user's in it, or "".
      platform, devices: what it runs on, and over how many devices it is cut up.
      seconds: how long the compiler took, or reading it from the cache on disk.
      origin: ``"compiler"``, ``"disk"``, ``"process"``, or ``"peer"``, another process that compiled it.
      argument_bytes, output_bytes, temporary_bytes: memory of one device while it runs; None where the
        platform does not say.
      collectives: how many operations of each kind by which devices communicate stand in its text, by name
        (``"all_reduce"``); the compiler adds its own for programs that it cuts up.

    Example:
      >>> from rabbet.extend.hooks import CompiledProgram
      >>> CompiledProgram("step", "model.py:12", "cpu", 1, 0.5, "compiler", 800, 4, 0).collectives
      {}
    """

    name: str
    where: str
    platform: str
    devices: int
    seconds: float
    origin: str
    argument_bytes: int | None
    output_bytes: int | None
    temporary_bytes: int | None
    collectives: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Transfer:
    """Values that were moved.

    Args:
      direction: ``"host-to-device"``, ``"device-to-device"`` or ``"device-to-host"``.
      nbytes: how many bytes.
      device: the device at the other end, as text.
      explicit: whether the program asked for it, by ``device_put`` or ``device_get``.

    Example:
      >>> from rabbet.extend.hooks import Transfer
      >>> Transfer("host-to-device", 4096, "cuda:0", True).nbytes
      4096
    """

    direction: str
    nbytes: int
    device: str
    explicit: bool


def collectives_in(text: str) -> dict[str, int]:
    """How many operations of each kind by which devices communicate stand in a module's text."""
    found: dict = {}
    if "stablehlo.all_" in text or "stablehlo.collective" in text or "stablehlo.reduce_scatter" in text:
        for name in WRITTEN.findall(text):
            found[name] = found.get(name, 0) + 1
    return found


__all__ = ["CompiledProgram", "PassRun", "Transfer", "collectives_in"]
