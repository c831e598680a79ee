"""Many meshes and layouts, ranked; and pictures."""

import itertools
import xml.etree.ElementTree as ET

import pytest
import rabbet as rb
from rabbet import planning
from rabbet.errors import ConfigError
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P
from rabbet_plan import picture, sweeping
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
    """A clock that goes a second on whenever it is looked at, and three seconds."""
    monkeypatch.setattr(sweeping.time, "monotonic", itertools.count().__next__)
    found = planning.sweep(program, "cpu:4", ("data", "model"), ("whole", "cut"), budget=3)
    tried = [t for t in found if t.problem != NOT_TRIED]
    assert len(found) == 6 and len(tried) == 3
    assert {t.mesh["data"] for t in tried} == {1, 2, 4} and {t.layout for t in tried} == {"whole", "cut"}
    assert found[3:] == [t for t in found if t.problem == NOT_TRIED]


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
