"""Which tests an environment leaves out that runs a share of them (`RABBET_TEST_SHARE`), or some rows."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("conftest_of_the_root", ROOT / "conftest.py")
conftest = importlib.util.module_from_spec(spec)
spec.loader.exec_module(conftest)


def items_of(place, names):
    path = ROOT / place
    no_mark = lambda name: None
    return [
        SimpleNamespace(
            path=path,
            nodeid=f"{place}::{name}",
            function=no_mark,
            get_closest_marker=no_mark,
            add_marker=no_mark,
            iter_markers=lambda name: (),
        )
        for name in names
    ]


NAMES = [f"test_{i}[{row}]" for i in range(300) for row in "ab"]
PLUGIN = "plugins/functions/fft/tests/test_fft.py"


def share(items, n):
    kept = list(items)
    left_out = conftest.leave_tests_out(kept, n, ROOT)
    assert sorted(item.nodeid for item in [*kept, *left_out]) == sorted(item.nodeid for item in items)
    return [item.nodeid for item in kept]


def test_a_share_is_one_in_so_many_with_all_rows_of_a_test():
    items = items_of(PLUGIN, NAMES)
    kept = share(items, 3)
    assert kept == [item.nodeid for item in items if item.nodeid in kept]  # in their order
    by_test = [name.partition("[")[0] for name in kept]
    assert all(by_test.count(name) == 2 for name in by_test)
    assert 150 < len(kept) < 250
    assert share(items, 1) == [item.nodeid for item in items]


def test_a_share_is_the_same_whatever_else_is_collected():
    items = items_of(PLUGIN, NAMES)
    kept = share(items, 3)
    assert share(list(reversed(items)), 3) == kept[::-1]
    assert share(items[:100], 3) == [name for name in kept if name in {item.nodeid for item in items[:100]}]
    others = items_of("plugins/functions/fft/tests/test_fft.py", ["test_new"])
    assert [name for name in share([*others, *items], 3) if not name.endswith("test_new")] == kept


def test_core_backends_and_transformations_are_whole():
    for folder in ("core", "pjrt_cpu", "plugins/transformations/jit"):
        items = items_of(f"{folder}/tests/test_x.py", NAMES)
        assert share(items, 3) == [item.nodeid for item in items]


def test_the_variable_leaves_tests_out_and_says_so(monkeypatch):
    items, said = items_of(PLUGIN, NAMES), []
    everything = list(items)
    config = SimpleNamespace(
        rootpath=ROOT, hook=SimpleNamespace(pytest_deselected=lambda items: said.extend(items))
    )
    monkeypatch.delenv("RABBET_TEST_ROWS", raising=False)
    monkeypatch.setenv("RABBET_TEST_SHARE", "3")
    around = conftest.pytest_collection_modifyitems(config, items)
    next(around)  # here `-m` and `-k` choose
    assert items == everything
    with pytest.raises(StopIteration):
        next(around)
    assert [item.nodeid for item in items] == share(everything, 3)
    assert len(said) == len(everything) - len(items) > 0
