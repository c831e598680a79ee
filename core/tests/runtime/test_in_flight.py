"""At most so many programs are under way on several devices, where jaxlib needs that."""

from types import SimpleNamespace

from rabbet.runtime.execution import in_flight
from rabbet.runtime.jaxlib import adapter


class Token:
    """Of a program: waited for, or not."""

    waited = False

    def block_until_ready(self):
        self.waited = True


class Client:
    """What a group of devices belongs to."""


def program(client, platform="cpu", text=""):
    """What stands for an executable, of which jaxlib writes ``text``."""
    module = SimpleNamespace(to_string=lambda: text)
    return SimpleNamespace(
        device=SimpleNamespace(platform=platform, client=client),
        exe=SimpleNamespace(hlo_modules=lambda: [module]),
        lowering=SimpleNamespace(module=SimpleNamespace(key_text="")),
    )


COMMUNICATING = "  %sum = f32[] all-reduce(%x), to_apply=%add"


def executed(made):
    """A function that runs nothing and notes the token of each run; None where nobody asked for one."""

    def execute(raws, with_tokens=False):
        token = Token() if with_tokens else None
        made.append(token)
        return SimpleNamespace(consume_token=lambda: token)

    return execute


def test_the_oldest_is_waited_for(monkeypatch):
    monkeypatch.setattr(adapter, "STARVES", True)
    made = []
    execute, client = executed(made), Client()
    run = in_flight.bounded(execute, program(client, text=COMMUNICATING))
    for _ in range(40):
        run([])
        waited = [t.waited for t in made]
        assert waited.count(False) <= in_flight.MOST_UNDER_WAY
        assert waited == sorted(waited, reverse=True)  # the oldest
        assert waited.count(False) >= min(len(made), in_flight.MOST_UNDER_WAY - in_flight.AT_ONCE)
    assert any(waited)
    assert in_flight.bounded(execute, program(client, "cuda", COMMUNICATING)) is execute
    monkeypatch.setattr(adapter, "STARVES", False)
    assert in_flight.bounded(execute, program(client, text=COMMUNICATING)) is execute


def test_programs_that_wait_for_nobody_are_counted_beside_those_that_communicate(monkeypatch):
    monkeypatch.setattr(adapter, "STARVES", True)
    made, client = [], Client()
    summing = in_flight.bounded(executed(made), program(client, text=COMMUNICATING))
    alone = in_flight.bounded(executed(made), program(client, text="  %y = f32[8]{0} tanh(%x)"))
    for _ in range(40):
        alone([])
    assert made == [None] * 40
    for _ in range(2):  # the second time, all is forgotten that was noted the first
        made.clear()
        summing([])
        for _ in range(60):
            alone([])
            under_way = [t for t in made if t is not None and not t.waited]
            assert made[0].waited or len(under_way) <= in_flight.MOST_UNDER_WAY
        assert made[0].waited
        assert made[-1] is None


def test_a_long_program_is_held_to_communicate(monkeypatch):
    monkeypatch.setattr(adapter, "STARVES", True)
    made = []
    long = program(Client(), text="")
    long.lowering.module.key_text = " " * (in_flight.LONG + 1)
    in_flight.bounded(executed(made), long)([])
    assert made != [None]
