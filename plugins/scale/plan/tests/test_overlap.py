"""What of communication hides behind arithmetic, worked out by hand on programs of a few instructions."""

import itertools
from types import SimpleNamespace

import pytest
from rabbet_plan.collectives import Collective
from rabbet_plan.overlap import overlap

COUNTER = itertools.count(1)
DEVICE, HOST = SimpleNamespace(space=0, plain_size=100), SimpleNamespace(space=5, plain_size=100)
SENT = {"a": 4.0, "b": 6.0}  # seconds, by the name of the collective operation


def made(opcode, *operands, name="", seconds=0.0, called=(), config=None, channel=0, shape=DEVICE):
    shape = SimpleNamespace(**vars(shape), arrays=(shape,), size=100)
    return SimpleNamespace(
        opcode=opcode, name=name, op_name=name, id=next(COUNTER), operands=operands, users=[], called=called,
        config=config or {}, channel=channel, shape=shape, seconds=seconds,
    )  # fmt: skip


def work(seconds, name="work"):
    return made("dot", made("parameter"), name=name, seconds=seconds)


def body(*instructions):
    return SimpleNamespace(instructions=list(instructions), root=instructions[-1])


def account(*instructions, host=100.0):
    known = {
        name: (Collective("all-reduce", ("x",), ((0, 1),), 2, 0, 0.0, 1, True, ("f32",), name, name), seconds)
        for name, seconds in SENT.items()
    }
    module = SimpleNamespace(entry=body(*instructions))
    found = overlap(module, lambda i: i.seconds, known, host)
    return found.seconds, {p.where: (p.seconds, p.waited, p.mostly) for p in found.parts}, found


def begun(name, opcode="all-reduce"):
    start = made(f"{opcode}-start", made("parameter"), name=name)
    return start, made(f"{opcode}-done", start)


def test_what_is_not_cut_in_two_is_waited_for():
    seconds, parts, found = account(work(3), made("all-reduce", made("parameter"), name="a"), work(2))
    assert seconds == 9 and parts == {"a": (4, 4, "")} and not found.parts[0].begun
    assert found.waited == 4 and found.hidden == 0


@pytest.mark.parametrize(("between", "waited"), [(0, 4), (3, 1), (4, 0), (7, 0)])
def test_what_stands_between_the_halves_hides_as_much(between, waited):
    start, done = begun("a")
    seconds, parts, found = account(work(1), start, work(between, "beside"), done, work(1))
    assert seconds == 2 + between + waited
    assert parts["a"] == (4, waited, "beside" if between else "") and found.parts[0].begun
    assert found.parts[0].behind == ({"beside": min(between, 4)} if between else {})


def test_links_carry_one_after_the_other_and_the_host_has_a_way_of_its_own():
    (a, a_done), (b, b_done) = begun("a"), begun("b")
    seconds, parts, _ = account(a, b, work(5), a_done, b_done)
    assert seconds == 10 and parts["a"][:2] == (4, 0) and parts["b"][:2] == (6, 5)
    there = made("copy-start", made("parameter"), name="there", shape=HOST)
    seconds, parts, found = account(there, a, work(5), made("copy-done", there), a_done, host=100 / 7)
    assert seconds == pytest.approx(7) and parts["a"][:2] == (4, 0)
    assert parts["there"][:2] == pytest.approx((7, 2)) and found.parts[0].kind == "transfer"


def test_a_transfer_that_is_not_begun_apart_is_waited_for():
    stored = made("parameter", shape=HOST)
    seconds, parts, found = account(work(2), made("dynamic-slice", stored, name="back"), host=100 / 7)
    assert seconds == pytest.approx(9) and parts["back"][:2] == pytest.approx((7, 7))
    assert not found.parts[0].begun
    start = made("async-start", called=(body(made("dynamic-slice", stored, name="back")),))
    seconds, parts, _ = account(start, work(2), made("async-done", start), host=100 / 7)
    assert seconds == pytest.approx(7) and parts["back"][:2] == pytest.approx((7, 5))


def test_the_way_to_the_host_and_that_from_it_are_two():
    there = made("copy-start", made("parameter"), name="there", shape=HOST)
    back = made("copy-start", made("parameter", shape=HOST), name="back")
    ends = made("copy-done", there), made("copy-done", back)
    seconds, parts, _ = account(there, back, work(5), *ends, host=100 / 7)
    assert seconds == pytest.approx(7) and sum(waited for _, waited, _ in parts.values()) == pytest.approx(2)


def test_a_loop_is_run_as_often_as_it_runs():
    start, done = begun("a")
    loop = made(
        "while", name="loop", config={"known_trip_count": {"n": "3"}}, called=(body(start, work(1), done),)
    )
    outer, outer_done = begun("b")
    seconds, parts, _ = account(outer, loop, outer_done)
    assert seconds == 12 and parts["a"][:2] == (12, 9)
    assert parts["b"] == (6, 0, "the loop at loop")


def test_a_tpu_spreads_one_over_fusions():
    config = {"async_collective_fusion_config": {}}

    def fusion(seconds, name):
        one = made("all-reduce", made("parameter"), name="a", config=config, channel=7)
        return made("fusion", name=name, seconds=seconds, called=(body(one),))

    seconds, parts, found = account(fusion(1, "first"), work(1, "between"), fusion(1, "last"), work(5))
    assert seconds == 9 and parts == {"a": (4, 1, "first")}
    assert found.parts[0].behind == {"first": 1, "between": 1, "last": 1}


def test_what_is_begun_within_a_call():
    one = made("reduce-scatter", made("parameter"), name="a")
    start = made("async-start", made("parameter"), called=(body(one),))
    seconds, parts, _ = account(start, work(2), made("async-done", made("async-update", start)))
    assert seconds == 4 and parts["a"][:2] == (4, 2)
