"""What lies in a device's memory while a program runs: bytes by use, and the largest buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rabbet_plan.hlo import Instruction, Module
from rabbet_plan.liveness import at_peak
from rabbet_plan.protobuf import message, numbers, one, signed


@dataclass(frozen=True)
class Memory:
    """Bytes of one device's memory.

    Attributes:
      arguments, outputs: of the program's arguments and results.
      aliased: of results that take the place of arguments (donated ones).
      temporaries: what it needs besides while it runs.
      libraries: what kernels of a library hold besides, of which the compiler's account has nothing.
      code: the program itself; 0 where the compiler does not tell.
      host: bytes of all these in the host's memory.
      peak: the most at one time, as the compiler tells it; 0 where it does not.
    """

    arguments: int
    outputs: int
    aliased: int
    temporaries: int
    code: int
    host: int
    peak: int
    libraries: int = 0

    @property
    def needed(self) -> int:
        """What a device must have: the sum of the uses, or the compiler's peak where that is more."""
        uses = self.arguments + self.outputs - self.aliased + self.temporaries + self.libraries + self.code
        return max(uses, self.peak - self.host)  # their peak counts what is in the host's memory, too


def memory_of(sizes: dict[str, int], libraries: int = 0) -> Memory:
    """``Memory`` from what a compiler tells, and what libraries hold of which it does not."""

    def of(use: str) -> int:
        return sizes.get(f"{use}_size_in_bytes", 0)

    host = sum(
        [n for name, n in sizes.items() if name.startswith("host_") and name != "host_alias_size_in_bytes"]
    )
    return Memory(
        of("argument"), of("output"), of("alias"), of("temp"), of("generated_code"), host,
        sizes.get("peak_memory_in_bytes", 0), libraries,
    )  # fmt: skip


class Buffer(NamedTuple):
    """A part of the memory that one array has at the time of the peak.

    Attributes: ``bytes``, ``use`` (``"argument"``, ``"output"``, ``"temporary"``, ``"constant"``), ``type``
    (such as ``"f32[16,256]"``), ``instruction`` (the compiler's name for what makes it), ``opcode``,
    ``op_name`` and ``parameter`` (the argument's number, or None).
    """

    bytes: int
    use: str
    type: str
    instruction: str
    opcode: str
    op_name: str
    parameter: int | None = None


def largest_buffers(module: Module, assignment: bytes, count: int) -> tuple[list[Buffer], str]:
    """The largest buffers at the time when most memory is in use, and how that was found:
    ``"buffer assignment"``, the compiler's own, or ``"schedule"``, from the order of instructions.
    """
    if assignment:
        found, how = from_assignment(module, assignment), "buffer assignment"
    else:
        found, how = from_schedule(module), "schedule"
    return sorted(found, key=lambda b: -b.bytes)[:count], how


def buffer_of(i: Instruction, size: int, use: str, type: str, parameter: int | None = None) -> Buffer:
    return Buffer(size, use, type, i.name, i.opcode, i.op_name, parameter)


def from_schedule(module: Module) -> list[Buffer]:
    """Buffers from the order in which a program's instructions run."""
    _, live = at_peak(module)
    outputs = {id(v) for v in live.outputs}
    found = []
    for value in live.values:
        i = value.instruction
        if i.opcode == "parameter":
            found.append(buffer_of(i, value.shape.size, "argument", str(value.shape), i.parameter_number))
        else:
            use = "output" if id(value) in outputs else "constant" if i.opcode == "constant" else "temporary"
            found.append(buffer_of(i, value.shape.size, use, str(value.shape)))
    return found


def from_assignment(module: Module, data: bytes) -> list[Buffer]:
    """Buffers out of a ``BufferAssignmentProto``."""
    proto = message(data)
    values = {}
    for each in proto.get(1, []):
        found = message(each)
        place = message(one(found, 3, b""))
        values[one(found, 1)] = one(found, 2), signed(one(place, 4)), tuple(numbers(place.get(3, [])))
    peaks = peak_values(proto, {n: size for n, (size, _, _) in values.items()})
    found_buffers = []
    for each in proto.get(3, []):
        allocation = message(each)
        if one(allocation, 3):  # lives within one operation
            continue
        regions: dict[tuple[int, int], tuple] = {}
        for assigned in allocation.get(9, []):
            part = message(assigned)
            number, key = one(part, 1), (one(part, 2), one(part, 3))
            if number in peaks.get(one(allocation, 1), (number,)):
                regions.setdefault(key, values[number][1:])
        parameter = one(allocation, 6) if one(allocation, 5) else None
        use = use_of(allocation)
        for (_, size), (made_by, index) in regions.items():
            i = module.instructions.get(made_by)
            if i is None or i.opcode == "tuple" or size == 0:
                continue
            if parameter is not None and i.opcode != "parameter":
                continue  # what is written over an argument
            shape = i.shape
            for n in index:
                shape = shape.parts[n]
            if shape.parts:  # the table of a tuple's parts
                continue
            found_buffers.append(buffer_of(i, size, use, str(shape), parameter))
    return found_buffers


def use_of(allocation) -> str:
    """What a part of the memory is for."""
    if one(allocation, 5):
        return "argument"
    if one(allocation, 12):
        return "constant"
    return "output" if one(allocation, 7) else "temporary"


def peak_values(proto, sizes) -> dict[int, set[int]]:
    """For each allocation that several values share in turn: which of them are there when most is in use."""
    found = {}
    for trace in proto.get(4, []):
        fields = message(trace)
        live: dict[int, int] = {}
        now = most = 0
        at_most: set[int] = set()
        shared: dict[int, int] = {}
        for event in fields.get(1, []):
            e = message(event)
            kind, number = one(e, 1), one(e, 2)
            if kind == 0:
                live[number] = sizes.get(number, 0)
                now += live[number]
            elif kind == 1:
                now -= live.pop(number, 0)
            else:
                shared[number] = one(e, 5)
            if now > most:
                most, at_most = now, set(live)
        index = one(fields, 3)
        found[index] = found.get(index, set()) | at_most
    return found


__all__ = ["Buffer", "Memory", "largest_buffers", "memory_of"]
