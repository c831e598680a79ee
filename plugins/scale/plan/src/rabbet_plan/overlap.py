"""What a step waits for: its communication, beside the arithmetic that runs while it is on its way.

The compiler orders a program's instructions, and where an operation can run beside others it writes two: one
that begins it and one that waits for it. Of this order an account is made: arithmetic is done one instruction
after the other, collective operations one after the other on the links, transfers to the host one after the
other, and those from it; an operation that was begun runs beside what stands between its two halves, and what
is left of it then is waited for. An operation that is not cut in two is waited for in full. A TPU's compiler
spreads some of them over several fusions, which compute while parts are sent: the first begins it, the last
waits.

The account says nothing of how arithmetic and communication slow each other down, and within a loop each
round begins when the one before it has ended. What was begun outside of a loop and runs beside it has links
of its own there. Durations are those of the estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rabbet_plan.collectives import Collective, called
from rabbet_plan.execution_counts import CALLS, inside, trip_count
from rabbet_plan.hlo import Computation, Instruction, Module
from rabbet_plan.transfers import of as transferred

LINKS, TO_HOST, FROM_HOST = "links", "to the host", "from the host"


class Sent(NamedTuple):
    """Something that can be on its way while a device computes. Attributes: ``way`` (``"links"``,
    ``"to the host"`` or ``"from the host"``), ``kind``, ``axes``, ``where`` (the place of the program),
    ``seconds``.
    """

    way: str
    kind: str
    axes: tuple[str, ...]
    where: str
    seconds: float


@dataclass
class Overlapped:
    """What became of operations of one kind over the same axes, from one place of the program.

    Attributes:
      kind, axes, where: which.
      seconds: how long they take in a step.
      waited: for how much of it the device waits; the rest is hidden.
      behind: the places of instructions that ran meanwhile, with the seconds that they hide.
      begun: whether the compiler lets others run beside them.
    """

    kind: str
    axes: tuple[str, ...]
    where: str
    seconds: float = 0.0
    waited: float = 0.0
    behind: dict[str, float] = field(default_factory=dict)
    begun: bool = False

    @property
    def hidden(self) -> float:
        """The seconds for which the device did something else."""
        found = self.seconds - self.waited
        return found if found > 1e-9 * self.seconds else 0.0  # sums are rounded

    @property
    def mostly(self) -> str:
        """The place of what hides the most of it."""
        return max(self.behind, key=lambda place: self.behind[place], default="")


@dataclass(frozen=True)
class Overlap:
    """The account. Attributes: ``seconds`` of a step in the compiler's order, and ``parts``, an
    ``Overlapped`` for each kind, axes and place, the one that is waited for longest first.
    """

    seconds: float
    parts: tuple[Overlapped, ...]

    @property
    def waited(self) -> float:
        """Seconds for which a device waits in a step."""
        return sum([part.waited for part in self.parts])

    @property
    def hidden(self) -> float:
        """Seconds of communication behind which it computes."""
        return sum([part.hidden for part in self.parts])


class Clock:
    """Time while a computation runs once: of the device, and until when each way is taken."""

    def __init__(self) -> None:
        self.now = 0.0
        self.taken = {LINKS: 0.0, TO_HOST: 0.0, FROM_HOST: 0.0}
        self.pending: dict[int, tuple[Sent, float]] = {}  # by what will end it: what, and when it has arrived
        self.since: dict[int, list[tuple[str, float]]] = {}  # what ran since it was begun

    def ran(self, name: str, seconds: float) -> None:
        self.now += seconds
        for meanwhile in self.since.values() if seconds else ():
            meanwhile.append((name, seconds))

    def begin(self, key: int, sent: Sent) -> None:
        arrives = max(self.now, self.taken[sent.way]) + sent.seconds
        self.taken[sent.way] = arrives
        self.pending[key], self.since[key] = (sent, arrives), []

    def end(self, key: int) -> tuple[Sent, float, list[tuple[str, float]]]:
        """What was begun, for how long it is waited for, and what ran meanwhile."""
        sent, arrives = self.pending.pop(key)
        waited = max(0.0, arrives - self.now)
        self.now = max(self.now, arrives)
        return sent, min(waited, sent.seconds), self.since.pop(key)


class Account:
    """Makes the account of a program."""

    def __init__(
        self, seconds_of: Callable[[Instruction], float], collectives: Mapping[str, tuple[Collective, float]],
        host: float, place: Callable[[str], str],
    ) -> None:  # fmt: skip
        self.seconds_of, self.collectives, self.host, self.place = seconds_of, collectives, host, place
        self.found: dict[tuple[str, tuple[str, ...], str], Overlapped] = {}

    def run(self, computation: Computation, times: int) -> float:
        """How long a computation takes once; ``times`` it runs in a step."""
        clock = Clock()
        last = {channel: i.id for i in computation.instructions for channel in spread_channels(i)}
        for i in computation.instructions:
            self.step(clock, i, times, last)
        for key in list(clock.pending):  # what nobody waits for here has arrived at the end
            self.note(*clock.end(key), times, begun=True)
        return clock.now

    def step(self, clock: Clock, i: Instruction, times: int, last: Mapping[int, int]) -> None:
        if i.opcode.endswith("-done"):
            begun = started(i)
            if begun in clock.pending:
                self.note(*clock.end(begun), times, begun=True)
            return
        if i.opcode == "while":
            rounds = trip_count(i)
            rounds = 1 if rounds is None else rounds
            clock.ran(self.name(i), rounds * sum([self.run(c, times * rounds) for c in i.called]))
            return
        if i.opcode == "conditional" and i.called:
            heaviest = max(i.called, key=lambda c: sum([j.shape.size for j in c.instructions]))
            clock.ran(self.name(i), self.run(heaviest, times))
            return
        sent = self.sent(i)
        if sent is None and i.opcode in CALLS and i.called:
            if i.opcode != "async-update":
                clock.ran(self.name(i), self.run(i.called[0], times))
            return
        channels = set(spread_channels(i))
        beside = bool(channels) or i.opcode.endswith("-start")
        if sent is not None and beside and not channels & clock.pending.keys():
            clock.begin(next(iter(channels), i.id), sent)
        clock.ran(self.name(i), self.seconds_of(i))
        for channel in channels:
            if last[channel] == i.id and channel in clock.pending:
                self.note(*clock.end(channel), times, begun=True)
        if sent is not None and not beside:
            clock.begin(i.id, sent)
            self.note(*clock.end(i.id), times, begun=False)

    def name(self, i: Instruction) -> str:
        """What an instruction is told of as."""
        place = self.place(i.op_name)
        return place if i.opcode != "while" else f"the loop at {place}" if place else "a loop"

    def sent(self, i: Instruction) -> Sent | None:
        """What an instruction sends, or None."""
        for one in within(i):
            known = self.collectives.get(one.name)
            if known is not None:
                each, seconds = known
                return Sent(LINKS, each.kind, each.axes, self.place(each.op_name or called(i, one)), seconds)
            there, back = transferred(one)
            if there or back:
                way = TO_HOST if there else FROM_HOST
                return Sent(way, "transfer", (), self.place(one.op_name), (there + back) / self.host)
        return None

    def note(
        self, sent: Sent, waited: float, meanwhile: list[tuple[str, float]], times: int, *, begun: bool
    ) -> None:
        key = sent.kind, sent.axes, sent.where
        part = self.found.setdefault(key, Overlapped(*key))
        part.seconds += times * sent.seconds
        part.waited += times * waited
        part.begun |= begun
        left = sent.seconds - waited
        for name, seconds in meanwhile:
            if left <= 0:
                break
            share = min(seconds, left)
            left -= share
            part.behind[name] = part.behind.get(name, 0.0) + times * share


def within(i: Instruction) -> Iterator[Instruction]:
    """An instruction, or those that a fusion or the operation that is begun is made of."""
    if i.opcode == "async-start" and i.called:
        for each in i.called[0].instructions:
            yield from inside(each)
    else:
        yield from inside(i)


def spread_channels(i: Instruction) -> list[int]:
    """The channels of operations of which a fusion does a part."""
    if i.opcode != "fusion":
        return []
    return [-1 - one.channel for one in inside(i) if "async_collective_fusion_config" in one.config]


def started(done: Instruction) -> int:
    """What began that for which an instruction waits."""
    i = done
    while i.operands and not i.opcode.endswith("-start"):
        i = i.operands[0]
    return i.id


def overlap(
    module: Module, seconds_of: Callable[[Instruction], float],
    collectives: Mapping[str, tuple[Collective, float]], host: float, place: Callable[[str], str] = str,
) -> Overlap:  # fmt: skip
    """The account of a program.

    Args:
      module: the compiled program.
      seconds_of: how long an instruction's arithmetic takes, once.
      collectives: by the compiler's name of it each collective operation, and how long it takes once.
      host: bytes per second to the host's memory.
      place: how a place of the program is told of, from what it calls an operation.
    """
    account = Account(seconds_of, collectives, host, place)
    seconds = account.run(module.entry, 1)
    parts = sorted(account.found.values(), key=lambda part: (-part.waited, -part.seconds))
    return Overlap(seconds, tuple(parts))


__all__ = ["Overlap", "Overlapped", "overlap"]
