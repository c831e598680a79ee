"""What is saved comes back: structure, types, keys. What does not fit is said, with the paths."""

import collections
import dataclasses
import threading
from pathlib import Path

import numpy as np
import pytest
import rabbet as rb

store = pytest.importorskip("rabbet.store")

pytestmark = pytest.mark.needs("cpu", "numpy", "random", "jit")
DATA = Path(__file__).parent / "data"
Moments = collections.namedtuple("Moments", "count mean")


@dataclasses.dataclass
class Layer:
    w: object
    rate: float = rb.tree.static(default=0.5)


@dataclasses.dataclass
class Doer:
    w: object
    function: object = rb.tree.static(default=None)


rb.tree.register_dataclass_node(Layer, ["w"], ["rate"])
rb.tree.register_dataclass_node(Doer, ["w"], ["function"])


def equal(a, b):
    """Equal, with the same types everywhere."""
    if type(a) is not type(b):
        return False
    if dataclasses.is_dataclass(a):
        return all(equal(getattr(a, f.name), getattr(b, f.name)) for f in dataclasses.fields(a))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[k], b[k]) for k in a)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, rb.Array) and a.aval.is_extended:
        return a.dtype == b.dtype and equal(rb.random.key_data(a), rb.random.key_data(b))
    if hasattr(a, "dtype"):
        same = a.dtype == b.dtype and a.shape == b.shape
        return same and np.asarray(a).tobytes() == np.asarray(b).tobytes()
    return a == b or (a != a and b != b)


STATES = {
    "none": {"opt": [None, np.ones(2), None, np.zeros(3)], "n": None, "cfg": {}, "l": [], "t": (), "d": [[],
    {}]},
    "alone": None, "empty": {}, "leaf": np.ones(2), "value": 3,
    "values": [True, 1, 1.0, 1j, "1", b"1", -0.0, float("inf"), float("nan"), 2**70, -(2**63), "\ud800"],
    "scalars": [np.float32(1), np.int8(1), np.bool_(True), np.complex64(1j), np.array(1.0),
    np.float64("nan")],
    "classes": {"a": Layer(np.ones(2), 0.25), "b": Moments(3, [Layer(None)])},
    "dicts": [collections.OrderedDict(b=1, a=2), collections.defaultdict(list, x=[1]), {1: 2, 3: {}}],
    "odd keys": [{True: 1}, {None: 1}, {b"x": 1}, {2**70: 1}, {(): 1}, {(1, ("a", None)): 1}, {1.5: 1}],
}  # fmt: skip


@pytest.mark.parametrize("name", STATES)
def test_it_comes_back_as_it_was(tmp_path, name):
    state = STATES[name]
    checkpoints = store.Checkpoints(tmp_path)
    checkpoints.save(1, state, wait=True)
    assert equal(checkpoints.load(), state)
    assert equal(checkpoints.load(like=state), state)
    checkpoints.verify()


def test_random_keys_and_weak_types(tmp_path):
    random = pytest.importorskip("rabbet.random")
    state = {
        "key": random.key(3), "keys": random.split(random.key(4), 6).reshape(2, 3), "rbg": random.key(5,
        impl="rbg"),
        "weak": rb.device_put(2.0), "none": random.split(random.key(0), 3)[:0],
    }  # fmt: skip
    checkpoints = store.Checkpoints(tmp_path)
    checkpoints.save(1, state, wait=True)
    for found in (checkpoints.load(), checkpoints.load(like=state)):
        assert (
            equal(found, state) and found["weak"].aval.weak_type and found["rbg"].dtype == state["rbg"].dtype
        )
    with pytest.raises(
        store.CheckpointError, match=r"\['key'\] of the checkpoint is key<fry>\[\], and uint32"
    ):
        checkpoints.load(like={**state, "key": np.zeros(2, np.uint32)})


def test_what_like_has_not_is_said(tmp_path):
    checkpoints = store.Checkpoints(tmp_path)
    state = {"params": np.ones(2), "opt": {"m": np.ones(3), "v": np.ones(3)}, "n": None, "l": [1, 2]}
    checkpoints.save(4, state, wait=True)
    with pytest.raises(
        store.CheckpointError, match=r"step 4 has what `like` has not: \['opt'\] \(2 leaves\)"
    ):
        checkpoints.load(like={k: v for k, v in state.items() if k != "opt"})
    for like in ({}, {"params": np.ones(2)}, {**state, "n": None, "l": [1]}):
        with pytest.raises(store.CheckpointError, match=r"partial=True\) leaves it out"):
            checkpoints.load(like=like)
        assert equal(checkpoints.load(like=like, partial=True), like)
    found = checkpoints.load(like={**state, "opt": None}, partial=True)
    assert found["opt"] is None and found["l"] == [1, 2]


@pytest.mark.parametrize("like, message", [
    ({"a": [1], "b": 2, "c": None}, r"no \['c'\]; it has \['a'\]\[0\], \['b'\]"),
    ({"a": (1,), "b": 2}, r"\['a'\] is a list and a tuple in `like`"),
    ({"a": None, "b": 2}, r"\['a'\] is a list and None in `like`"),
    ({"a": 1, "b": 2}, r"\['a'\] is a list and an array or number in `like`"),
    ({"a": [1], "b": [2]}, r"no \['b'\]\[0\]"),
    ({"a": [1.0], "b": 2}, r"\['a'\]\[0\] of the checkpoint is 1, a Python int, and a Python float was"),
    ({"a": [1], "b": True}, r"\['b'\] of the checkpoint is 2, a Python int, and a Python bool"),
    ({"a": [np.zeros(2)], "b": 2}, r"is 1, a Python int, and float64\[2\] was expected"),
])  # fmt: skip
def test_other_structures_are_said(tmp_path, like, message):
    checkpoints = store.Checkpoints(tmp_path)
    checkpoints.save(1, {"a": [1], "b": 2}, wait=True)
    with pytest.raises(store.CheckpointError, match=message):
        checkpoints.load(like=like)


def test_classes(tmp_path):
    checkpoints = store.Checkpoints(tmp_path)
    checkpoints.save(1, {"l": Layer(1, 0.25), "m": Moments(1, 2)}, wait=True)
    with pytest.raises(store.CheckpointError, match=r"\['l'\] is a .*Layer with .*0.25"):
        checkpoints.load(like={"l": Layer(1, 0.75), "m": Moments(1, 2)})
    assert checkpoints.load(plain=True) == {"l": {"w": 1}, "m": {"count": 1, "mean": 2}}

    class Moments2(collections.namedtuple("Moments2", "count mean")):
        pass

    checkpoints.save(2, [Moments2(1, 2)], wait=True)
    with pytest.raises(store.CheckpointError, match="which this program has not registered; import what"):
        checkpoints.load()
    assert checkpoints.load(like=[Moments2(0, 0)]) == [Moments2(1, 2)]
    checkpoints.save(3, Doer(1, equal), wait=True)
    with pytest.raises(store.CheckpointError, match=r"metadata that were not saved .*function"):
        checkpoints.load()
    assert equal(checkpoints.load(like=Doer(0, equal)), Doer(1, equal))


@pytest.mark.parametrize("step", [1.0, 1.7, True, "1", None, np.float32(1)])
def test_steps_are_integers(tmp_path, step):
    checkpoints = store.Checkpoints(tmp_path)
    with pytest.raises(TypeError, match="step must be an integer"):
        checkpoints.save(step, 1)
    assert not list(tmp_path.iterdir())


def test_steps_of_all_sizes(tmp_path):
    checkpoints = store.Checkpoints(tmp_path)
    for step in (-1, 0, 10**12, np.int64(5)):
        checkpoints.save(step, {"step": int(step)}, wait=True)
    assert checkpoints.steps() == [-1, 0, 5, 10**12] and checkpoints.load(-1) == {"step": -1}
    (tmp_path / "step-0000000077").mkdir()
    assert checkpoints.latest() == 10**12
    checkpoints.save(77, 1, wait=True)
    assert checkpoints.load(77) == 1


def test_what_would_lose_something_is_refused(tmp_path):
    checkpoints = store.Checkpoints(tmp_path)
    with pytest.raises(ValueError, match=r"\['m'\] is a masked array of NumPy"):
        checkpoints.save(1, {"m": np.ma.array([1.0, 2.0], mask=[0, 1])})
    for gone in (rb.device_put(np.ones(2)), rb.random.key(1)):
        gone.delete()
        with pytest.raises(rb.errors.DeletedArrayError, match=r"\['a'\]\[1\] .* deleted or donated"):
            checkpoints.save(1, {"a": [1, gone]})
    with pytest.raises(TypeError, match="is a recarray"):
        checkpoints.save(1, np.zeros(2).view(np.recarray))
    with pytest.raises(TypeError, match="is a Name"):
        checkpoints.save(1, [type("Name", (str,), {})("x")])
    with pytest.raises(TypeError, match="`like`, which is missing"):
        checkpoints.load(partial=True)
    assert not list(tmp_path.iterdir())


def test_one_object_in_many_threads(tmp_path):
    checkpoints = store.Checkpoints(tmp_path)
    errors = []

    def work(base):
        try:
            for step in range(base, base + 4):
                checkpoints.save(step, {"x": np.full(100, step)}, wait=step % 2 == 0)
                checkpoints.wait()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(100 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    checkpoints.wait()
    assert not errors and len(checkpoints.steps()) == 16
    for step in checkpoints.steps():
        assert (checkpoints.load(step)["x"] == step).all()


def test_format_1_is_read():
    checkpoints = store.Checkpoints(DATA / "format-1")
    found = checkpoints.load()
    assert found["opt"][1][1:] == ["text", 3, True] and found["opt"][1][0] == np.float32(2.5)
    np.testing.assert_array_equal(found["w"], np.arange(6, dtype=np.float32).reshape(2, 3))
    np.testing.assert_array_equal(found["host"], np.arange(3))
    like = {
        "w": found["w"], "host": np.arange(3), "opt": [found["opt"][0], (np.array(np.float32(0)), "", 0,
        False)],
        "empty": np.zeros((0, 2), np.int32), "more": None,
    }  # fmt: skip
    assert checkpoints.load(like=like)["opt"][1][1:] == ("text", 3, True)
    with pytest.raises(store.CheckpointError, match=r"has not: \['opt'\]"):
        checkpoints.load(like={k: v for k, v in like.items() if k != "opt"})
    assert checkpoints.verify() == 8
