"""Compiled programs as XLA hands them out: computations of instructions, out of an ``HloModuleProto``."""

from __future__ import annotations

import json
import math
from functools import cached_property
from typing import Any

from rabbet.extend.cost import Cost

from rabbet_plan.protobuf import message, numbers, one, signed, text

# XLA's element types by number: how they are written, and their bits.
TYPES = {
    1: ("pred", 8), 2: ("s8", 8), 3: ("s16", 16), 4: ("s32", 32), 5: ("s64", 64), 6: ("u8", 8),
    7: ("u16", 16), 8: ("u32", 32), 9: ("u64", 64), 10: ("f16", 16), 11: ("f32", 32), 12: ("f64", 64),
    15: ("c64", 64), 16: ("bf16", 16), 18: ("c128", 128), 19: ("f8e5m2", 8), 20: ("f8e4m3fn", 8),
    21: ("s4", 4), 22: ("u4", 4), 23: ("f8e4m3b11fnuz", 8), 24: ("f8e5m2fnuz", 8), 25: ("f8e4m3fnuz", 8),
    26: ("s2", 2), 27: ("u2", 2), 28: ("f8e4m3", 8), 29: ("f8e3m4", 8), 30: ("s1", 1), 31: ("u1", 1),
    32: ("f4e2m1fn", 4), 33: ("f8e8m0fnu", 8),
}  # fmt: skip
TUPLE = 13
# In which field of LiteralProto the numbers of an element type stand.
INTEGERS = {2: 15, 3: 17, 4: 4, 5: 5, 6: 3, 7: 16, 8: 6, 9: 7}


class Shape:
    """The type of a value: an array's, or a tuple's of these.

    Attributes: ``dtype`` (as XLA writes it, ``"tuple"``, or ``"other"`` for tokens), ``dimensions``,
    ``parts`` (of a tuple), ``space`` (the memory that it lies in, 0 for the usual one) and ``size``: bytes,
    with what the layout pads.
    """

    def __init__(self, data: bytes):
        found = message(data)
        kind = one(found, 2)
        self.dtype, bits = TYPES.get(kind, ("tuple" if kind == TUPLE else "other", 0))
        self.dimensions = tuple(numbers(found.get(3, [])))
        self.parts = tuple([Shape(part) for part in found.get(4, [])])
        layout = message(one(found, 5, b""))
        self.space = one(layout, 8)
        self.count = math.prod(self.dimensions) if bits else 0
        self._bits: int = bits
        tiles = [numbers(message(tile).get(1, [])) for tile in layout.get(6, [])]
        order = numbers(layout.get(1, []))
        padded = self.count if not tiles else math.prod(padded_dimensions(self.dimensions, order, tiles[0]))
        self.size = -(-padded * bits // 8) + sum([part.size for part in self.parts])

    @property
    def plain_size(self) -> int:
        """Bytes without padding."""
        return -(-self.count * self._bits // 8) + sum([part.plain_size for part in self.parts])

    @property
    def arrays(self) -> tuple[Shape, ...]:
        """The arrays in it."""
        return tuple([a for part in self.parts for a in part.arrays]) if self.parts else (self,)

    @property
    def is_float(self) -> bool:
        """Whether it has floating-point or complex numbers."""
        return self.dtype[0] in "fbc"

    def __str__(self):
        if self.dtype == "tuple":
            return f"({', '.join(map(str, self.parts))})"
        return f"{self.dtype}[{','.join(map(str, self.dimensions))}]"


def padded_dimensions(dimensions, order, tile):
    """Dimensions as they lie in memory, the last ones rounded up to a tile's."""
    physical = [dimensions[i] for i in reversed(order)] if order else list(dimensions)
    physical = [1] * (len(tile) - len(physical)) + physical
    kept = len(physical) - len(tile)
    return physical[:kept] + [-(-n // t) * t for n, t in zip(physical[kept:], tile, strict=True)]


class Instruction:
    """One instruction.

    Attributes: ``name``, ``opcode``, ``shape``, ``op_name`` (what the program calls it), ``id``,
    ``operands``, ``users`` (that read it), ``called`` (computations), ``told`` (of a native call, the
    ``Cost`` that the rule of its primitive says, or None) and ``fields``, all that the message has, by
    number.
    """

    def __init__(self, data: bytes):
        self.fields = message(data)
        self.name, self.opcode = text(self.fields, 1), text(self.fields, 2)
        self.shape = Shape(one(self.fields, 3, b""))
        self.op_name = text(message(one(self.fields, 7, b"")), 2)
        self.id = signed(one(self.fields, 35))
        self.operand_ids = numbers(self.fields.get(36, []))
        self.called_ids = numbers(self.fields.get(38, []))
        self.channel = one(self.fields, 26)
        self.operands: tuple[Instruction, ...] = ()
        self.users: list[Instruction] = []
        self.called: tuple[Computation, ...] = ()
        self.told: Cost | None = None

    @property
    def parameter_number(self) -> int:
        """Which parameter it is."""
        return one(self.fields, 9)

    @property
    def tuple_index(self) -> int:
        """Which part of a tuple it takes."""
        return one(self.fields, 13)

    @property
    def target(self) -> str:
        """The function that a custom call calls."""
        return text(self.fields, 28)

    @property
    def direction(self) -> str:
        """How a comparison compares."""
        return text(self.fields, 63)

    @cached_property
    def config(self) -> dict[str, Any]:
        """What the compiler noted for itself, where that is JSON."""
        try:
            found = json.loads(one(self.fields, 43, b"") or b"{}")
        except (ValueError, UnicodeDecodeError):
            return {}
        return found if isinstance(found, dict) else {}

    @property
    def scalar(self) -> int | None:
        """The value of a whole number that is constant; None for anything else."""
        if self.opcode != "constant" or self.shape.dimensions or self.shape.parts:
            return None
        literal = message(one(self.fields, 8, b""))
        kind = one(message(one(self.fields, 3, b"")), 2)
        if kind not in INTEGERS:
            return None
        values = literal.get(INTEGERS[kind], [])
        if kind in (2, 3, 6, 7):  # held as bytes
            return int.from_bytes(values[0], "little", signed=kind in (2, 3)) if values else 0
        found = numbers(values)
        return found[0] if found else 0

    def __repr__(self):
        return f"<{self.name} = {self.shape} {self.opcode}>"


class Computation:
    """Instructions in the order in which they run. Attributes: ``name``, ``id``, ``instructions``,
    ``root``.
    """

    def __init__(self, data: bytes):
        found = message(data)
        self.name, self.id = text(found, 1), signed(one(found, 5))
        self.instructions = [Instruction(each) for each in found.get(2, [])]
        self.root_id = signed(one(found, 6))
        self.root = self.instructions[-1]

    @property
    def parameters(self) -> dict[int, Instruction]:
        """The parameters by number."""
        return {i.parameter_number: i for i in self.instructions if i.opcode == "parameter"}


class Module:
    """A program. Attributes: ``name``, ``computations`` (by id), ``entry`` and ``instructions`` (by id).

    Args:
      data: an ``HloModuleProto``.
    """

    def __init__(self, data: bytes):
        found = message(data)
        self.name = text(found, 1)
        made = [Computation(each) for each in found.get(3, [])]
        self.computations = {each.id: each for each in made}
        self.instructions = {i.id: i for each in made for i in each.instructions}
        entry = text(found, 2)
        self.entry = next(each for each in made if each.name == entry)
        schedule = message(one(found, 7, b""))
        orders = {}
        for each in schedule.get(1, []):  # a map: entries of a key and a value
            pair = message(each)
            orders[signed(one(pair, 1))] = numbers(message(one(pair, 2, b"")).get(1, []))
        for each in made:
            order = orders.get(each.id)
            if order is not None:
                by_id = {i.id: i for i in each.instructions}
                each.instructions = [by_id[n] for n in order if n in by_id]
            each.root = self.instructions.get(each.root_id, each.instructions[-1])
        for i in self.instructions.values():
            i.operands = tuple([self.instructions[n] for n in i.operand_ids if n in self.instructions])
            for operand in i.operands:
                operand.users.append(i)
            i.called = tuple([self.computations[n] for n in i.called_ids if n in self.computations])


__all__ = ["Computation", "Instruction", "Module", "Shape"]
