"""Bytes: written, read, damaged; structures with classes of their own; what other versions wrote."""

import collections
import pathlib
import random
import re
import subprocess
import sys

import numpy as np
import pytest
import rabbet as rb
from rabbet import export, lax
from rabbet.extend.native import stablehlo_versions

tree_util = pytest.importorskip("rabbet.tree_util")

Pair = collections.namedtuple("Pair", ["left", "right"])
export.register_namedtuple_serialization(Pair, serialized_name="tests.Pair")
X = np.float32([1, 2])


@tree_util.register_pytree_node_class
class Tagged:
    def __init__(self, value, tag):
        self.value, self.tag = value, tag

    def tree_flatten(self):
        return (self.value,), self.tag

    @classmethod
    def tree_unflatten(cls, tag, children):
        return cls(*children, tag)


export.register_pytree_node_serialization(
    Tagged, serialized_name="tests.Tagged", serialize_auxdata=str.encode, deserialize_auxdata=bytes.decode
)


def exported(fun, *args):
    return export.export(rb.jit(fun))(*args)


@pytest.mark.narrow
def test_structures():
    g = lambda t, *, k: [None, (), Pair(t["b"], [k]), Tagged(t["a"][0], "blue"), {}]
    program = export.export(rb.jit(g))({"b": X, "a": (X, X)}, k=np.float32(1))
    again = export.deserialize(program.serialize())
    assert again.in_tree == program.in_tree and again.out_tree == program.out_tree
    out = again.call({"b": X, "a": (2 * X, X)}, k=3.0)
    assert type(out[2]) is Pair and out[3].tag == "blue" and out[3].value.tolist() == [2, 4]


def test_from_children_builds_nodes():
    built = []

    @tree_util.register_pytree_node_class
    class Built(Tagged):
        pass

    export.register_pytree_node_serialization(
        Built, serialized_name="tests.Built", serialize_auxdata=str.encode, deserialize_auxdata=bytes.decode,
        from_children=lambda tag, children: built.append(tag) or Built(*children, tag),
    )  # fmt: skip
    blob = exported(lambda x: Built(x, "red"), X).serialize()
    assert export.deserialize(blob).call(X).tag == "red" and built == ["red"]


KEYED = {
    "ordered": collections.OrderedDict(b=X, a=[X]),
    "integers": {3: X, 0: (X, None)},
    "negative": {-1: X, 10: X},
    "booleans": {True: X, False: X},
    "tuples": {("w", 1): X, ("b", 0): {"x": X}},
    "within": [{1: collections.OrderedDict({(2, 3): X, "k": X})}],
}


@pytest.mark.parametrize("which", KEYED)
def test_dicts_with_any_keys_and_in_any_order(which):
    blob = exported(lambda t: (t, X), KEYED[which]).serialize()
    again = export.deserialize(blob)
    out, _ = again.call(KEYED[which])
    assert tree_util.tree_structure(out) == tree_util.tree_structure(KEYED[which])
    if which == "ordered":
        assert list(out) == ["b", "a"] and type(out) is collections.OrderedDict


def test_classes_that_are_not_registered():
    Other = collections.namedtuple("Other", ["x"])
    with pytest.raises(ValueError, match=r"structure with .*Other cannot be serialized; register the class"):
        exported(lambda x: Other(x), X).serialize()
    with pytest.raises(TypeError, match=r"dicts in .* have texts, .* as keys, got b'k', bytes"):
        exported(lambda x: {b"k": x}, X).serialize()
    with pytest.raises(ValueError, match=r"Pair is registered .*already, under the name 'tests.Pair'"):
        export.register_namedtuple_serialization(Pair, serialized_name="tests.Pair2")
    with pytest.raises(ValueError, match=r"serialized_name 'tests.Pair' is taken by Pair"):
        export.register_namedtuple_serialization(Other, serialized_name="tests.Pair")
    with pytest.raises(ValueError, match="is not a named tuple"):
        export.register_namedtuple_serialization(Tagged, serialized_name="tests.Tagged2")


LOADER = """
import sys
from rabbet import export
export.deserialize(open(sys.argv[1], "rb").read())
"""


def test_classes_that_the_reader_does_not_know(tmp_path):
    (tmp_path / "blob").write_bytes(exported(lambda x: Pair(x, x), X).serialize())
    run = subprocess.run(
        [sys.executable, "-c", LOADER, tmp_path / "blob"], capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert "serialized as 'tests.Pair', and nothing is registered under this name here" in run.stderr


# Damage -------------------------------------------------------------------------------------------


def outcome(blob):
    """What the bytes mean: the result of a call, or None for a refusal."""
    try:
        program = export.deserialize(blob)
    except export.ExportError:
        return None
    return [np.asarray(x).tolist() for x in rb.tree.leaves(program.call(X))]


@pytest.fixture(scope="module")
def blob():
    return bytes(exported(lambda x: {"a": lax.sin(x), "b": [x]}, X).serialize(vjp_order=1))


def changed(blob, rng):
    """Bytes with some of them changed, left out or added."""
    data = bytearray(blob)
    way = rng.randrange(4)
    if way == 0:
        return bytes(data[: rng.randrange(len(data))])
    if way == 1:
        at = rng.randrange(len(data))
        return bytes(data[:at] + rng.randbytes(rng.randrange(1, 9)) + data[at:])
    for _ in range(rng.choice([1, 1, 2, 8])):
        data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def test_changed_bytes_are_refused_or_mean_the_same(blob):
    rng, wanted = random.Random(0), outcome(blob)
    assert wanted is not None
    outcomes = [outcome(changed(blob, rng)) for _ in range(300)]
    assert all(found in (None, wanted) for found in outcomes) and outcomes.count(None) > 200


def test_the_reader_alone_never_fails_otherwise(blob):
    content = blob[: blob.rindex(b"RABBET-SHA256\n")]  # as JAX writes it, without a checksum
    head = content.index(b"ML\xefR")
    rng, refused = random.Random(1), 0
    for _ in range(1500):
        data = bytearray(content)
        for _ in range(rng.choice([1, 2, 4])):
            data[rng.choice([rng.randrange(head), rng.randrange(len(data))])] = rng.choice(
                [0, 1, 255, rng.randrange(256)]
            )
        try:
            export.deserialize(bytes(data))
        except export.ExportError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize("data, words", [
    (b"", "no exported program"),
    (b"hello, this is not one", "no exported program"),
    (b"\x00" * 64, "no exported program|layout 0"),
])  # fmt: skip
def test_other_bytes(data, words):
    with pytest.raises(export.ExportError, match=words):
        export.deserialize(data)


def test_no_bytes():
    with pytest.raises(TypeError, match="deserialize takes bytes"):
        export.deserialize("text")


def test_a_checksum_that_differs(blob):
    with pytest.raises(export.ExportError, match="their checksum differs"):
        export.deserialize(blob[:40] + bytes([blob[40] ^ 1]) + blob[41:])


def test_a_program_that_is_none(blob):
    from dataclasses import replace

    program = export.deserialize(blob)
    program.call(X)  # what this made is not that of another
    broken = replace(program, mlir_module_serialized=b"no module")
    with pytest.raises(export.ExportError, match="not a portable artifact that StableHLO"):
        broken.call(X)


# Other versions -----------------------------------------------------------------------------------

WRITTEN = sorted((pathlib.Path(__file__).parent / "artifacts").glob("*.bin"))


def test_there_are_artifacts_of_others():
    assert {p.stem.partition("-")[0] for p in WRITTEN} == {"jax", "rabbet"}


@pytest.mark.parametrize("path", WRITTEN, ids=lambda p: p.stem)
def test_what_other_versions_wrote(path):
    """Each is ``{"y": sin(x) @ w + c, "n": n + 1}`` with one derivative, for x of shape (2, 3)."""
    program = export.deserialize(path.read_bytes())
    x, w, n = np.linspace(-1, 1, 6, dtype="f4").reshape(2, 3), np.arange(3, dtype="f4"), np.int32(4)
    needs = re.search(rb"StableHLO_v([\d.]+)", program.mlir_module_serialized)[1].decode()
    newer = tuple(map(int, needs.split("."))) > tuple(map(int, stablehlo_versions().current.split(".")))
    assert not newer or path.stem.startswith("jax-")
    out = program.call(x, w, n)  # its operations are older than the version that it says
    np.testing.assert_allclose(out["y"], np.sin(x) @ w + np.float32([0.5, -0.5]), rtol=1e-5, atol=1e-6)
    assert int(out["n"]) == 5
    slope = rb.grad(lambda x: lax.reduce_sum(program.call(x, w, n)["y"], (0,)))(x)
    np.testing.assert_allclose(slope, np.cos(x) * w, rtol=1e-5, atol=1e-6)
