"""Many meshes and layouts, ranked; and pictures."""

import itertools
import threading
import xml.etree.ElementTree as ET
from dataclasses import replace
from types import SimpleNamespace

import pytest
import rabbet as rb
from rabbet import planning
from rabbet.errors import ConfigError
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P
from rabbet_plan import picture, sweeping
from rabbet_plan.programs import Program
from rabbet_plan.sweeping import NOT_TRIED, alternating, factorizations, ranking

pytestmark = pytest.mark.needs("cpu", "numpy")


def program(mesh, layout="whole"):
    def put(shape, *spec):
        return rb.ShapeDtypeStruct(shape, "float32", sharding=NamedSharding(mesh, P(*spec)))

    weight = put((512, 512), None, "model") if layout == "cut" else put((512, 512))
    return (lambda w, x: rb.numpy.tanh(x @ w)), (weight, put((6, 512), "data"))


@pytest.fixture(scope="module")
def trials():
    lines = []
    found = planning.sweep(program, "cpu:4", ("data", "model"), ("whole", "cut"), lines.append)
    assert len(lines) == 6 and lines[0] == "data=1,model=4, whole"
    return found


def test_every_mesh_and_layout_is_tried(trials):
    assert len(trials) == 6
    assert {(tuple(t.mesh.items()), t.layout) for t in trials} == {
        ((("data", d), ("model", 4 // d)), layout) for d in (1, 2, 4) for layout in ("whole", "cut")
    }


def test_the_best_is_first_and_what_cannot_be_is_last(trials):
    """Least arithmetic comes with both axes cut; 6 rows are not to be cut into 4 parts."""
    assert [bool(t.problem) for t in trials] == [False] * 4 + [True] * 2
    flops = [t.plan.flops for t in trials[:4]]
    assert flops == sorted(flops) and flops[0] < flops[-1]
    assert {t.layout for t in trials[:2]} == {"cut"}
    assert trials[0].plan.memory.needed < trials[2].plan.memory.needed
    assert all("size 6 is not divisible by 4" in t.problem for t in trials[4:])
    shown = ranking(trials)
    assert len(shown.splitlines()) == 7 and "data=2,model=2" in shown and "not divisible" in shown


def test_what_it_refuses():
    with pytest.raises(ConfigError, match="names of the mesh's axes"):
        planning.sweep(program, "cpu:2", ())
    with pytest.raises(ConfigError, match="takes no layout"):
        planning.sweep(lambda mesh: None, "cpu:2", ("x",), ("a",))


def test_factorizations():
    assert list(factorizations(4, 2)) == [(1, 4), (2, 2), (4, 1)]
    assert len(list(factorizations(8, 3))) == 10 and list(factorizations(5, 1)) == [(5,)]


@pytest.mark.parametrize("sizes", [(3, 2, 4), (4, 4), (1, 6), (5,), (2, 2, 2, 3)])
def test_combinations_alternate(sizes):
    """All of them once, and the first few have every choice of each kind."""
    found = list(alternating(*map(range, sizes)))
    assert sorted(found) == sorted(itertools.product(*map(range, sizes)))
    for kind, size in enumerate(sizes):
        assert {place[kind] for place in found[: max(sizes)]} == set(range(size))


def test_a_budget_that_ends_early_has_seen_a_bit_of_each(monkeypatch):
    """A clock that goes a second on whenever it is looked at: each trial takes one, and so does the look."""
    monkeypatch.setattr(sweeping.time, "monotonic", itertools.count().__next__)
    monkeypatch.setattr(sweeping, "within", lambda seconds, call: call())
    found = planning.sweep(program, "cpu:4", ("data", "model"), ("whole", "cut"), budget=7)
    tried = [t for t in found if t.problem != NOT_TRIED]
    assert len(found) == 6 and len(tried) == 3
    assert {t.mesh["data"] for t in tried} == {1, 2, 4} and {t.layout for t in tried} == {"whole", "cut"}
    assert [t for t in found if t.problem == NOT_TRIED] == [t for t in found if t not in tried]


def test_what_does_not_end_in_time_is_given_up(monkeypatch):
    never = threading.Event()
    assert sweeping.within(0.01, never.wait) is None
    never.set()
    assert sweeping.within(600, lambda: 3) == 3
    with pytest.raises(KeyError, match="'a'"):
        sweeping.within(600, lambda: {}["a"])
    monkeypatch.setattr(sweeping, "within", lambda seconds, call: None)
    found = planning.sweep(program, "cpu:2", ("data",), ("whole", "cut"), budget=600)
    assert [t.problem for t in found] == [sweeping.GIVEN_UP] * 2 and found[0].given_up


def test_all_are_compiled_with_little_effort_first(monkeypatch):
    """Then again with all of it, the best first, while there is time."""
    trial = lambda name: sweeping.Trial({"x": 4}, name, None, NOT_TRIED)
    made, seconds = [], {"a": 2.0, "b": 1.0, "c": 3.0}

    def tried(program, there, trial, options=None):
        made.append((trial.layout, options))
        plan = SimpleNamespace(
            estimate=SimpleNamespace(most=seconds[trial.layout]), bytes_by_axis=lambda measure: {},
            memory=SimpleNamespace(needed=1), compile_seconds=1.0,
        )  # fmt: skip
        return replace(trial, plan=plan, problem="", quick=bool(options))

    monkeypatch.setattr(sweeping, "tried", tried)
    options = {"an option": 1}
    found = sweeping.in_time(None, None, map(trial, "abc"), float("inf"), made.append, options)
    assert [t for t in made if isinstance(t, tuple)] == [("a", options), ("b", options), ("c", options)]
    assert all(t.quick for t in found)
    made.clear()
    soon = sweeping.time.monotonic() + 2  # less than FULL_EFFORT times what each took
    assert [t.layout for t in sweeping.in_full(None, None, found, soon, made.append)] == ["b", "a", "c"]
    assert made == []
    full = sweeping.in_full(None, None, found, float("inf"), lambda line: None)
    assert made == [("b", None), ("a", None), ("c", None)] and not any(t.quick for t in full)


def test_an_option_that_the_compiler_does_not_know_is_left_out():
    trial = sweeping.Trial({"data": 2, "model": 1}, "whole", None, NOT_TRIED)
    found = sweeping.tried(Program(program), planning.topology("cpu:2"), trial, {"xla_of_another_version": 1})
    assert found.plan is not None and not found.problem and not found.quick


def test_trials_are_ordered_by_what_they_promise():
    """Compiled for CPUs, with the speeds and the memory of a TPU v5e; 16 GiB do not hold 32."""

    def program(mesh, layout):
        put = lambda shape, *spec: rb.ShapeDtypeStruct(
            shape, "float32", sharding=NamedSharding(mesh, P(*spec))
        )
        if layout == "large":
            return (lambda x: x + 1), (put((1 << 33,)),)
        return (lambda w, x: x @ w), (put((4096, 4096)), put((8, 4096), *(["x"] if layout == "cut" else [])))

    twin = planning.topology("cpu:4")
    there = SimpleNamespace(platform="tpu", local_name="v5e:2x2", devices=twin.devices)
    trials = [sweeping.Trial({"x": 4}, name, None, NOT_TRIED) for name in ("large", "whole", "cut")]
    asked = Program(program)
    found = sweeping.promising(asked, there, twin, trials, float("inf"))
    assert [t.layout for t in found] == ["cut", "whole", "large"]
    assert found[0].promise.seconds < found[1].promise.seconds
    assert found[1].promise.arguments == 4096 * 4096 * 4 + 8 * 4096 * 4
    assert "arguments alone" in found[2].problem and not found[2].given_up
    assert sweeping.promising(asked, there, twin, trials, -1.0) == trials  # no time for an order
    shown = ranking(sorted(found, key=sweeping.rank))
    assert shown.index("arguments alone") < shown.index("cut") < shown.index("whole")
    assert "roughly" in shown and "over 32.0 GiB" in shown


def test_pictures_are_whole(trials, tmp_path):
    for svg in (picture.of_plan(trials[0].plan), picture.of_trials(trials, "a & b < c")):
        root = ET.fromstring(svg)
        bars = [e for e in root if e.tag.endswith("rect")]
        assert len(bars) > 4 and all(float(b.get("width").rstrip("%")) > 0 for b in bars)
    path = tmp_path / "plan.html"
    picture.written(str(path), svg, "a & b")
    page = path.read_text()
    assert page.startswith("<!doctype html>") and "<title>a &amp; b</title>" in page and "</svg>" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")  # it asks nobody for anything
