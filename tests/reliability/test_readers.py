"""Files that were damaged or tampered with: an error or the same result, never a crash.

RABBET_MUTATIONS sets how many are tried of each kind (200).
"""

import os
import pickle
import random

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet.experimental import serialize_executable
from rabbet.runtime.caching import disk_cache, read_ahead

pytestmark = pytest.mark.needs("cpu", "jit", "numpy")

COUNT = int(os.environ.get("RABBET_MUTATIONS", 200))
X = np.arange(3, dtype="f4")


def mutated(content, seed):
    """The same bytes, changed somewhere: a bit, a block, the length, or all of it."""
    rng = random.Random(seed)
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 5, 50])):
        at = rng.randrange(len(content) + 1)
        how = rng.randrange(7)
        if how == 0 and at < len(content):
            content[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            content[at : at + rng.randrange(64)] = b""
        elif how == 2:
            content[at:at] = rng.randbytes(rng.randrange(1, 64))
        elif how == 3:
            content = content[:at]
        elif how == 4:
            content[at : at + 32] = bytes(len(content[at : at + 32]))
        elif how == 5:
            other = rng.randrange(len(content) + 1)
            content[at : at + 16] = content[other : other + 16]
        else:
            content[at:] = rng.randbytes(len(content) - at)
    return bytes(content)


@pytest.fixture
def program():
    c = rnp.arange(3.0)
    compiled = rb.jit(lambda x: rnp.sin(x) * c).lower(X).compile()
    return compiled, serialize_executable.serialize(compiled)


def test_a_stored_program_that_was_changed_is_refused(program):
    compiled, (content, in_tree, out_tree) = program
    expected = np.asarray(compiled(X))
    refused = 0
    for seed in range(COUNT):
        changed = mutated(content, seed)
        try:
            again = serialize_executable.deserialize_and_load(changed, in_tree, out_tree)
        except ValueError as error:
            assert "damaged" in str(error)
            refused += 1
            continue
        assert changed == content
        np.testing.assert_array_equal(again(X), expected)
    assert refused > COUNT * 0.9


def test_bytes_of_others_are_refused_before_they_are_unpickled(program):
    _, (_, in_tree, out_tree) = program

    class Bomb:
        def __reduce__(self):
            return (pytest.fail, ("unpickled what it did not write",))

    for foreign in (pickle.dumps(Bomb()), b"", b"rabbet program 3\n", b"rabbet program 3\n" + bytes(32)):
        with pytest.raises(ValueError, match="damaged, or were not made by"):
            serialize_executable.deserialize_and_load(foreign, in_tree, out_tree)


def test_a_cache_entry_that_was_changed_is_a_miss(tmp_path):
    store = disk_cache.ProgramCache(tmp_path / "programs", 2**30)
    key, blob = "a" * 64, os.urandom(300) + b"program" * 100
    assert store.put(key, blob) and store.get(key) == blob
    path = next((tmp_path / "programs").glob(f"{key}*"))
    content = path.read_bytes()
    missed = 0
    for seed in range(COUNT):
        changed = mutated(content, seed)
        path.write_bytes(changed)
        os.chmod(path, 0o600)
        store._warned.clear()
        if changed == content:
            assert store.get(key) == blob
            continue
        with pytest.warns(rb.errors.CacheWarning, match="damaged"):
            assert store.get(key) is None
        missed += 1
        assert not path.exists()
    assert missed > COUNT * 0.9


def test_a_valid_entry_around_a_damaged_program_is_compiled_again(tmp_path):
    """The checksum is right, what it covers is not a program: jaxlib refuses it, or Rabbet does."""
    with rb.config.override(cache_dir=str(tmp_path), cache_min_seconds=0.0):
        double = lambda x: x * 2 + 0.0625
        assert rb.jit(double)(X).tolist() == [0.0625, 2.0625, 4.0625]
        paths = list((tmp_path / "programs").glob("*"))
        entries = [p for p in paths if p.read_bytes().startswith(disk_cache.FORMAT)]
        assert entries
        for path in entries:
            key = path.name.removesuffix(disk_cache.SUFFIX)
            path.write_bytes(disk_cache.pack(key, os.urandom(200)))
            os.chmod(path, 0o600)
        rb.clear_caches()
        with pytest.warns(rb.errors.CacheWarning, match="no use"):
            assert rb.jit(double)(X).tolist() == [0.0625, 2.0625, 4.0625]


def test_a_checkpoint_of_which_a_file_was_changed_is_refused_or_read_alike(tmp_path):
    pytest.importorskip("rabbet_store")
    store = pytest.importorskip("rabbet.store")
    checkpoints = store.Checkpoints(tmp_path)
    state = {"w": rnp.arange(1000.0).reshape(10, 100), "step": 3, "b": [rnp.ones(3), "text"]}
    checkpoints.save(1, state, wait=True)
    expected = [np.asarray(x).tolist() for x in rb.tree.leaves(state)]
    paths = sorted(p for p in checkpoints.path(1).rglob("*") if p.is_file())
    contents = [path.read_bytes() for path in paths]
    refused = 0
    for seed in range(COUNT):
        path, content = paths[seed % len(paths)], contents[seed % len(paths)]
        path.write_bytes(mutated(content, seed))
        try:
            found = [np.asarray(x).tolist() for x in rb.tree.leaves(checkpoints.load(1, like=state))]
            assert found == expected, (path.name, seed)
        except store.CheckpointError:
            refused += 1
        path.write_bytes(content)
    assert refused > COUNT * 0.5
    forged = ('{"manifest": 7}', '{"manifest": null, "sha256": ""}', '{"manifest": "", "sha256": 7}')
    for content in (b"", b"[]", b"7", b"[" * 100_000, *map(str.encode, forged)):
        (checkpoints.path(1) / "manifest.json").write_bytes(content)
        with pytest.raises(store.CheckpointError, match="table of contents"):
            checkpoints.load(1)


@pytest.fixture
def exported():
    export = pytest.importorskip("rabbet.export")
    program = export.export(rb.jit(lambda x: {"a": rnp.sin(x), "b": [x]}))(X)
    return export, bytes(program.serialize())


def test_an_exported_program_that_was_changed_is_refused_or_means_the_same(exported):
    export, content = exported
    expected = [np.asarray(x).tolist() for x in rb.tree.leaves(export.deserialize(content).call(X))]
    refused = 0
    for seed in range(COUNT):
        try:
            program = export.deserialize(mutated(content, seed))
        except export.ExportError:
            refused += 1
            continue
        # A change in the checksum's own mark makes it bytes of JAX's, which have none: not called.
        if mutated(content, seed).startswith(content[: content.rindex(b"RABBET-SHA256\n")]):
            assert [np.asarray(x).tolist() for x in rb.tree.leaves(program.call(X))] == expected, seed
    assert refused > COUNT * 0.5


def test_an_exported_program_of_others_is_refused_or_read(exported):
    """As JAX writes it, without a checksum: whatever the layout says, its reader raises its own error."""
    export, content = exported
    content = content[: content.rindex(b"RABBET-SHA256\n")]
    refused = 0
    for seed in range(COUNT):
        try:
            program = export.deserialize(mutated(content, seed))
            assert isinstance(repr(program.in_avals), str)
        except export.ExportError:
            refused += 1
    assert refused > COUNT * 0.2


def test_a_file_of_tensors_that_was_changed_is_refused_or_has_the_types_it_names(tmp_path):
    safetensors = pytest.importorskip("rabbet.safetensors")
    path = tmp_path / "x.safetensors"
    safetensors.save({"w": rnp.arange(12.0).reshape(3, 4), "b": rnp.ones(3, "int8")}, path)
    content, refused = path.read_bytes(), 0
    head = 8 + int.from_bytes(content[:8], "little")
    for seed in range(COUNT):
        # Every other time in the header alone: the numbers themselves have no checksum.
        changed = mutated(content, seed) if seed % 2 else mutated(content[:head], seed) + content[head:]
        path.write_bytes(changed)
        try:
            found = safetensors.load(path)
        except (ValueError, TypeError):
            refused += 1
            continue
        assert sum(x.nbytes for x in found.values()) <= len(changed)
    assert refused > COUNT * 0.2


def test_an_index_of_tensors_that_was_changed_is_refused_or_names_files_beside_it(tmp_path):
    safetensors = pytest.importorskip("rabbet.safetensors")
    safetensors.save({"w": rnp.arange(3.0)}, tmp_path / "a.safetensors")
    index = tmp_path / "model.safetensors.index.json"
    content = b'{"metadata": {"total_size": 12}, "weight_map": {"w": "a.safetensors"}}'
    for seed in range(COUNT):
        index.write_bytes(mutated(content, seed))
        try:
            assert safetensors.load(index)["w"].tolist() == [0, 1, 2]
        except (ValueError, KeyError, FileNotFoundError):
            pass


def test_a_list_of_programs_to_load_ahead_that_was_changed_names_keys_only(tmp_path):
    programs = disk_cache.ProgramCache(tmp_path / "programs", 2**30)
    path = tmp_path / read_ahead.FOLDER / "script"
    path.parent.mkdir()
    content = "".join(f"cpu {digit * 64}\n" for digit in "abc").encode()
    for seed in range(COUNT):
        path.write_bytes(mutated(content, seed))
        path.chmod(0o600)
        for platform, key in read_ahead.ReadAhead(programs, path)._last:
            assert platform and len(key) == 64 and set(key) <= set("0123456789abcdef")
