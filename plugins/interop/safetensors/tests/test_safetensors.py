"""Files in and out: every dtype, what is checked, and what another implementation makes of them."""

import doctest
import json
import random

import numpy as np
import pytest
import rabbet as rb
from rabbet import lax
from rabbet.safetensors.layout import NAMES

st = rb.safetensors


def some(name, shape=(3, 5)):
    """An array with an interesting bit pattern."""
    for package in ("bfloat16", "float8"):
        if name.startswith(package):
            pytest.importorskip(f"rabbet_{package}")
    bits = np.random.RandomState(0).bytes(int(np.prod(shape)) * rb.dtypes.canonicalize(name).itemsize)
    if name == "bool":
        return np.frombuffer(bits, np.uint8).reshape(shape) % 2 == 1
    return np.frombuffer(bits, rb.dtypes.canonicalize(name)).reshape(shape)


def as_bytes(x):
    return np.ascontiguousarray(x).tobytes()


@pytest.mark.parametrize("name", NAMES.values())
def test_every_dtype_comes_back_to_the_last_bit(name, tmp_path):
    given = {
        "matrix": some(name),
        "scalar": some(name, ()),
        "nothing": some(name, (0, 2)),
        "turned": some(name).T,
    }
    st.save(given, tmp_path / "x.safetensors", metadata={"dtype": name})
    found = st.load(tmp_path / "x.safetensors")
    assert set(found) == set(given) and st.metadata(tmp_path / "x.safetensors") == {"dtype": name}
    for key, x in found.items():
        assert isinstance(x, rb.Array) and x.dtype.name == name and x.shape == given[key].shape
        assert as_bytes(x) == as_bytes(given[key])
    arrays = st.loads(st.dumps(found))
    assert all(as_bytes(arrays[k]) == as_bytes(found[k]) for k in found)


@pytest.mark.parametrize("name", NAMES.values())
def test_the_library_safetensors_reads_and_writes_the_same(name):
    theirs = pytest.importorskip("safetensors")
    code = next(code for code, dtype in NAMES.items() if dtype == name)
    (pair,) = theirs.deserialize(st.dumps({"x": some(name)}))
    assert pair[0] == "x" and pair[1]["dtype"] == code and pair[1]["shape"] == [3, 5]
    assert bytes(pair[1]["data"]) == as_bytes(some(name))


def test_a_file_of_the_library_safetensors():
    theirs = pytest.importorskip("safetensors.numpy")
    given = {"b": np.arange(6.0).reshape(2, 3), "a": np.arange(3, dtype="i2"), "c": np.array(True)}
    found = st.loads(theirs.save(given, metadata={"format": "np"}))
    assert {k: v.tolist() for k, v in found.items()} == {k: v.tolist() for k, v in given.items()}
    back = theirs.load(st.dumps(found))
    assert all(np.array_equal(back[k], given[k]) and back[k].dtype == given[k].dtype for k in given)


def test_a_file_for_torch(tmp_path):
    theirs, torch = pytest.importorskip("safetensors.torch"), pytest.importorskip("torch")
    given = {"w": torch.randn(4, 3).to(torch.bfloat16), "q": torch.randn(4).to(torch.float8_e4m3fn)}
    theirs.save_file(given, tmp_path / "t.safetensors")
    arrays = st.load(tmp_path / "t.safetensors")
    assert {k: v.dtype.name for k, v in arrays.items()} == {"w": "bfloat16", "q": "float8_e4m3fn"}
    st.save(arrays, tmp_path / "r.safetensors")
    back = theirs.load_file(tmp_path / "r.safetensors")
    assert all(torch.equal(back[k].view(torch.uint8), given[k].view(torch.uint8)) for k in given)


TREE = {
    "layers": [{"w": np.ones((2, 3), "f4"), "b": np.zeros(3, "f4")}, {"w": np.full((3, 1), 2, "f4")}],
    "n": np.int32(3),
}


def test_trees_by_their_names(tmp_path):
    path = tmp_path / "net.safetensors"
    st.save(TREE, path)
    assert sorted(st.info(path)) == ["layers.0.b", "layers.0.w", "layers.1.w", "n"]
    assert st.info(path)["layers.0.w"].shape == (2, 3)
    same = st.load(path, like=TREE)
    assert rb.tree.structure(same) == rb.tree.structure(TREE)
    rb.tree.map(np.testing.assert_array_equal, same, TREE)
    abstract = rb.tree.map(lambda x: rb.ShapeDtypeStruct(x.shape, x.dtype), TREE)
    rb.tree.map(np.testing.assert_array_equal, st.load(path, like=abstract), TREE)
    assert list(st.load(path, names=["n", "layers.1.w"])) == ["n", "layers.1.w"]


def test_arrays_go_where_they_are_sent(tmp_path):
    path = tmp_path / "net.safetensors"
    st.save({"a": np.ones(4, "f4"), "b": np.ones(4, "f8")}, path)
    device = rb.devices()[-1]
    assert all(x.devices() == {device} and x.committed for x in st.load(path, device=device).values())
    asked = []
    found = st.load(path, device=lambda name, kind: asked.append((name, kind.dtype.name)))
    assert asked == [("b", "float64"), ("a", "float32")] and found["b"].dtype == "float64"


def test_weights_in_several_files(tmp_path):
    parts = {
        "one.safetensors": {"a": np.arange(3)},
        "two.safetensors": {"b": np.arange(4), "c": np.arange(2)},
    }
    for file, arrays in parts.items():
        st.save(arrays, tmp_path / file)
    index = tmp_path / "model.safetensors.index.json"
    places = {name: file for file, arrays in parts.items() for name in arrays}
    index.write_text(json.dumps({"metadata": {}, "weight_map": places}))
    assert (
        {k: len(v) for k, v in st.load(index).items()}
        == {"a": 3, "b": 4, "c": 2}
        == {k: v.shape[0] for k, v in st.info(index).items()}
    )
    assert list(st.load(index, names=["c", "a"])) == ["c", "a"]
    with pytest.raises(KeyError, match="no tensor 'd'; it has 'a', 'b', 'c'"):
        st.load(index, names=["d"])
    for elsewhere in ("../one.safetensors", "", "."):
        index.write_text(json.dumps({"weight_map": {"a": elsewhere}}))
        with pytest.raises(ValueError, match="does not lie beside it"):
            st.load(index)
    index.write_text("[]")
    with pytest.raises(ValueError, match="no 'weight_map'"):
        st.load(index)


def file_of(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(dtype="U8", shape=(2,), offsets=(0, 2)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "has 0 bytes"),
        (b"\xff" * 8, "header would have"),
        (file_of({})[:-1], "header would have 2 bytes"),
        (file_of(b"{"), "header cannot be read"),
        (file_of(b"\xff\xff"), "header cannot be read"),
        (file_of(b"[" * 100_000), "header cannot be read"),
        (file_of(b'{"a": 1, "a": 2}'), "stands in it twice"),
        (file_of([]), "not an object"),
        (file_of({"__metadata__": {"a": 1}}), "metadata are not texts"),
        (file_of({"x": 3}), r"missing or no sizes \(tensor 'x'\)"),
        (file_of({"x": entry(shape=(-2,))}, b"ab"), "no sizes"),
        (file_of({"x": entry(shape=(True, 2))}, b"ab"), "no sizes"),
        (file_of({"x": entry(offsets=(0,))}, b"ab"), "no sizes"),
        (file_of({"x": entry(offsets=(2, 0))}, b"ab"), "-2 bytes cannot be"),
        (file_of({"x": entry("F32")}, b"ab"), r"2 bytes cannot be F32\[2\]"),
        (file_of({"x": entry()}, b"a"), "cut off or has grown"),
        (file_of({"x": entry()}, b"abc"), "cut off or has grown"),
        (file_of({"x": entry(), "y": entry()}, b"ab"), "none or to two"),
        (file_of({"x": entry(offsets=(1, 3))}, b"abc"), "none or to two"),
    ],
)
def test_files_that_are_none(data, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        st.loads(data)
    (tmp_path / "bad.safetensors").write_bytes(data)
    for read in (st.load, st.info, st.metadata):
        with pytest.raises(ValueError, match=message):
            read(tmp_path / "bad.safetensors")


def test_bytes_changed_at_random_are_refused_or_read():
    data, chance = st.dumps(TREE), random.Random(0)
    for _ in range(300):
        changed = bytearray(data)
        for _ in range(chance.randint(1, 3)):
            changed[chance.randrange(len(changed) - 40)] = chance.randrange(256)
        try:
            found = st.loads(bytes(changed))
        except (ValueError, TypeError):
            continue
        assert sum(x.nbytes for x in found.values()) == sum(x.nbytes for x in rb.tree.leaves(TREE))


def test_what_is_refused_says_why(tmp_path):
    path = tmp_path / "x.safetensors"
    with pytest.raises(TypeError, match=r"'a.0' is not an array but str 'w'"):
        st.save({"a": ["w"]}, path)
    with pytest.raises(TypeError, match="'q' is of dtype complex128, for which the format has no word"):
        st.save({"q": np.ones(2, "c16")}, path)
    with pytest.raises(ValueError, match=r"two leaves have the name 'a\.b'"):
        st.dumps({"a": {"b": np.ones(1)}, "a.b": np.ones(1)})
    with pytest.raises(TypeError, match="metadata are texts"):
        st.dumps({}, metadata={"step": 1})
    assert not list(tmp_path.iterdir())
    st.save({"x": np.ones(3, "f4")}, path)
    with pytest.raises(ValueError, match=r"'x' is float32\[3\], and `like` has float32\[2\]"):
        st.load(path, like={"x": np.ones(2, "f4")})
    with pytest.raises(KeyError, match="no tensor 'y'; it has 'x'"):
        st.load(path, like={"y": np.ones(2)})
    with pytest.raises(TypeError, match="no dtype for 'F4'"):
        st.loads(file_of({"x": entry("F4", (4,))}, b"ab"))


def test_a_file_is_replaced_whole(tmp_path, monkeypatch):
    path = tmp_path / "x.safetensors"
    st.save({"x": lax.full((3,), 1.0)}, path)
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        st.save({"x": lax.full((3,), 2.0)}, path)
    assert st.load(path)["x"].tolist() == [1, 1, 1] and list(tmp_path.iterdir()) == [path]


@pytest.mark.narrow
@pytest.mark.parametrize("name", st.__all__)
def test_examples(name, tmp_path, monkeypatch):
    rnp = pytest.importorskip("rabbet.numpy")
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(
        getattr(st, name).__doc__, {"rb": rb, "rnp": rnp}, name, None, None
    )
    report = []
    doctest.DocTestRunner(verbose=False).run(test, out=report.append)
    assert test.examples and report == []


def test_a_masked_array_is_refused():
    with pytest.raises(ValueError, match="'m' is a masked array of NumPy, which would lose its mask"):
        rb.safetensors.dumps({"m": np.ma.array([1.0, 2.0], mask=[0, 1])})
