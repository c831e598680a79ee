"""SavedModels: their messages, and what is refused. TensorFlow reads them in ``tests/savedmodel``."""

import numpy as np
import pytest
import rabbet as rb
from rabbet import export
from rabbet.export.protobuf import message, varint

pytestmark = pytest.mark.needs("jit", "numpy", "random")


def read(data):
    """A message as a dict from the number of a field to the list of its values."""
    found, at = {}, 0

    def number():
        nonlocal at
        value, shift = 0, 0
        while True:
            value |= (data[at] & 127) << shift
            shift += 7
            at += 1
            if data[at - 1] < 128:
                return value

    while at < len(data):
        key = number()
        value = number()
        if key & 7 == 2:
            value, at = data[at : at + value], at + value
        found.setdefault(key >> 3, []).append(value)
    return found


def entries(maps):
    return {read(m)[1][0].decode(): read(m)[2][0] for m in maps}


def shape(data):
    return [np.int64(np.uint64(read(d)[1][0])) if read(d) else 0 for d in read(data).get(2, [])]


def model(p, x):
    return {"y": rb.numpy.tanh(x) * p["s"], "n": rb.numpy.argmax(x, -1)}


def exported(**kwargs):
    (b,) = export.symbolic_shape("b")
    x = rb.ShapeDtypeStruct((b, 4), "bfloat16")
    return export.export(rb.jit(model), **kwargs)({"s": rb.ShapeDtypeStruct((), "float32")}, x)


@pytest.mark.forbidden("numpy_dtype_promotion")
@pytest.mark.narrow
def test_the_messages_say_what_the_program_is(tmp_path):
    program = exported(platforms=("cpu", "cuda"))
    folder = export.write_saved_model(program, tmp_path / "model")
    model = read((folder / "saved_model.pb").read_bytes())
    assert model[1] == [1]
    meta = read(model[2][0])
    assert read(meta[1][0])[4] == [b"serve"]
    nodes = {read(n)[1][0].decode(): read(n) for n in read(meta[2][0])[1]}
    call = nodes.pop("program_0")
    assert call[2] == [b"XlaCallModule"] and [n.decode() for n in call[3]] == list(nodes)
    assert all(n[2] == [b"Placeholder"] for n in nodes.values())
    attributes = entries(call[5])
    assert read(attributes["module"])[2] == [program.mlir_module_serialized]
    assert list(read(read(attributes["Tin"])[1][0])[6][0]) == [1, 14]
    assert list(read(read(attributes["Tout"])[1][0])[6][0]) == [3, 1]
    assert [shape(s) for s in read(read(attributes["Sout"])[1][0])[7]] == [[-1], [-1, 4]]
    assert read(read(attributes["platforms"])[1][0])[2] == [b"CPU", b"CUDA"]
    signature = read(entries(meta[5])["serving_default"])
    inputs, outputs = entries(signature[1]), entries(signature[2])
    assert list(inputs) == ["args_0_s", "args_1"] and list(outputs) == ["output_n", "output_y"]
    assert read(inputs["args_1"])[1] == [b"program_0_input_1:0"]
    assert read(outputs["output_y"])[1] == [b"program_0:1"]
    assert shape(read(inputs["args_1"])[3][0]) == [-1, 4]


@pytest.mark.forbidden("numpy_dtype_promotion")
def test_names_and_several_programs(tmp_path):
    one = export.export(rb.jit(lambda x, y: x + y))(np.float32(1), np.ones((0, 2), np.float32))
    names = {"input_names": ["a", "b"], "output_names": ["sum"]}
    folder = export.write_saved_model(one, tmp_path / "one", **names, tags=("x",))
    meta = read(read((folder / "saved_model.pb").read_bytes())[2][0])
    signature = read(entries(meta[5])["serving_default"])
    assert list(entries(signature[1])) == ["a", "b"] and list(entries(signature[2])) == ["sum"]
    assert shape(read(entries(signature[1])["b"])[3][0]) == [0, 2] and read(meta[1][0])[4] == [b"x"]
    folder = export.write_saved_model({"one": one, "two": exported()}, tmp_path / "two")
    meta = read(read((folder / "saved_model.pb").read_bytes())[2][0])
    assert list(entries(meta[5])) == ["one", "two"]


@pytest.mark.parametrize("n, wire", [(0, b"\x00"), (300, b"\xac\x02"), (-1, b"\xff" * 9 + b"\x01")])
def test_numbers_on_the_wire(n, wire):
    assert varint(n) == wire
    assert message({3: n}) == b"\x18" + wire and message({3: None}) == b""


@pytest.mark.forbidden("numpy_dtype_promotion")
def test_refusals(tmp_path):
    one = export.export(rb.jit(lambda x: x))(np.float32(1))
    export.write_saved_model(one, tmp_path)
    with pytest.raises(FileExistsError, match="is there already"):
        export.write_saved_model(one, tmp_path)
    with pytest.raises(export.ExportError, match="1 leaves there, and input_names names 2"):
        export.write_saved_model(one, tmp_path / "a", input_names=["x", "y"])
    with pytest.raises(export.ExportError, match="output_names names two leaves alike: o, o"):
        export.write_saved_model(exported(), tmp_path / "a", output_names=["o", "o"])
    with pytest.raises(TypeError, match="for a single program"):
        export.write_saved_model({"f": one}, tmp_path / "a", input_names=["x"])
    with pytest.raises(TypeError, match="what export returned"):
        export.write_saved_model(rb.jit(lambda x: x), tmp_path / "a")
    keys = export.export(rb.jit(lambda k: k))(rb.random.key(0))
    with pytest.raises(export.ExportError, match="which TensorFlow does not have"):
        export.write_saved_model(keys, tmp_path / "a")
    cholesky = rb.jit(rb.numpy.linalg.cholesky)
    factored = export.export(cholesky, platforms=("cpu",))(np.eye(2, dtype=np.float32))
    with pytest.raises(export.ExportError, match="TensorFlow does not bring: lapack_spotrf"):
        export.write_saved_model(factored, tmp_path / "a")
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("argument", ["input_names", "output_names", "tags"])
def test_names_are_lists_of_texts(tmp_path, argument):
    one = export.export(rb.jit(lambda x: x))(np.ones(3, np.float32))
    for wrong in ("x", b"x", {"x": 1}, [b"x"], [None], 3):
        with pytest.raises(TypeError, match=f"{argument} are a list of texts"):
            export.write_saved_model(one, tmp_path / "a", **{argument: wrong})
    for wrong in ("", "a\0b", "\udcff"):
        with pytest.raises(export.ExportError, match=f"{argument} hold .* which is no name"):
            export.write_saved_model(one, tmp_path / "a", **{argument: [wrong]})
    with pytest.raises(TypeError, match="the names of signatures are a list of texts"):
        export.write_saved_model({3: one}, tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_model_that_cannot_be_written_leaves_nothing_that_looks_like_one(tmp_path, monkeypatch):
    one = export.export(rb.jit(lambda x: x))(np.ones(3, np.float32))

    def full(*args):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        patched.setattr("os.replace", full)
        export.write_saved_model(one, tmp_path / "a")
    assert list((tmp_path / "a").iterdir()) == []
    export.write_saved_model(one, tmp_path / "a")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["saved_model.pb"]
