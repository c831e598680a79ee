"""Checkpoints of Orbax's: one that Orbax 0.12 wrote is read, and what is written here is read again. That
Orbax restores it was tried by hand (docs/howto/checkpoints.md).
"""

import argparse
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import rabbet as rb

store = pytest.importorskip("rabbet.store")
orbax = pytest.importorskip("rabbet_store.orbax")
command = pytest.importorskip("rabbet_store.command")
pytestmark = pytest.mark.needs("cpu")
DATA = Path(__file__).parent / "data" / "orbax"


def main(*arguments):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args([str(a) for a in arguments]))


def test_what_orbax_wrote():
    pytest.importorskip("rabbet_bfloat16")
    found = orbax.read(DATA)
    assert list(found) == ["empty", "opt", "params", "step"] and found["empty"] == {} and found["step"] == 7
    assert found["opt"][1] is None and found["opt"][2][0].dtype == np.int32 and found["opt"][2][0] == 4
    np.testing.assert_array_equal(found["opt"][0], [0, 1, 2])
    np.testing.assert_array_equal(found["params"]["w"], np.arange(6, dtype=np.float32).reshape(2, 3))
    assert found["params"]["b"].dtype.name == "bfloat16"


def test_both_ways(tmp_path, capsys):
    state = {
        "w": rb.device_put(np.arange(6, dtype=np.float32).reshape(2, 3)), "l": [1, None, {}, []], "rate": 0.5,
        "zero": np.zeros((0, 2)), "flag": True, "scalar": np.float64(2.5),
    }  # fmt: skip
    checkpoints = store.Checkpoints(tmp_path / "ours")
    checkpoints.save(3, state, wait=True)
    assert main("to-orbax", tmp_path / "ours", tmp_path / "theirs", "--step", 3) == 0
    assert main("from-orbax", tmp_path / "ours", tmp_path / "theirs", "--step", 4) == 0
    found = checkpoints.load(4)
    assert found["l"] == [1, None, {}, []] and found["rate"] == 0.5 and found["flag"] is True
    np.testing.assert_array_equal(found["w"], state["w"])
    assert found["zero"].shape == (0, 2) and found["scalar"] == 2.5
    assert main("to-orbax", tmp_path / "ours", tmp_path / "theirs", "--step", 3) == 1
    assert main("from-orbax", tmp_path / "ours") == 2
    assert "step 4: 6 leaves" in capsys.readouterr().out


@pytest.mark.parametrize("state, message", [
    ({"t": "text"}, "t is a str; Orbax keeps arrays"), ({"a.b": 1}, "texts without a dot"),
    ({1: 2}, "texts without"),
])  # fmt: skip
def test_what_orbax_does_not_keep(tmp_path, state, message):
    with pytest.raises(TypeError, match=message):
        orbax.write(tmp_path / "x", state)
    assert not (tmp_path / "x").exists()


def test_damage_is_said(tmp_path):
    with pytest.raises(store.CheckpointError, match="is not a checkpoint of Orbax's"):
        orbax.read(tmp_path)
    bad = tmp_path / "bad"
    wrong = {"key_metadata": 3}
    for change in (lambda b: b.pop("tree_metadata"), lambda b: b["tree_metadata"].update(x=wrong)):
        shutil.rmtree(bad, ignore_errors=True)
        shutil.copytree(DATA, bad)
        body = json.loads((bad / "_METADATA").read_text())
        change(body)
        (bad / "_METADATA").write_text(json.dumps(body))
        with pytest.raises(store.CheckpointError, match="or is damaged"):
            orbax.read(bad)
    shutil.rmtree(bad)
    shutil.copytree(DATA, bad)
    (bad / "manifest.ocdbt").write_bytes(b"x")
    with pytest.raises(store.CheckpointError, match="or is damaged"):
        orbax.read(bad)


@pytest.mark.parametrize("kind", ["1e999", "[]", '"x"', "null"])
def test_a_forged_kind_of_key_is_said(tmp_path, kind):
    key, value = f'{{"key": "a", "key_type": {kind}}}', '{"value_type": "None", "skip_deserialize": true}'
    entry = f'{{"key_metadata": [{key}], "value_metadata": {value}}}'
    (tmp_path / "_METADATA").write_text(f'{{"use_ocdbt": true, "tree_metadata": {{"a": {entry}}}}}')
    with pytest.raises(store.CheckpointError, match="or is damaged"):
        orbax.read(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes")
@pytest.mark.parametrize("name", ["manifest.ocdbt", "d/159076ce993e88c573f999e591771a3d"])
def test_a_pipe_is_not_waited_for(tmp_path, name):
    shutil.copytree(DATA, tmp_path / "bad")
    (tmp_path / "bad" / name).unlink()
    os.mkfifo(tmp_path / "bad" / name)
    with pytest.raises(store.CheckpointError, match=f"{name} is no file and no folder"):
        orbax.read(tmp_path / "bad")
