"""Every public name of JAX is here, or stands in ``absent_names.json`` with the reason."""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def printed(*command):
    env = {**os.environ, "JAX_PLATFORMS": "cpu"}
    ran = subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, env=env, check=True
    )
    return json.loads(ran.stdout.splitlines()[-1])


def test_what_is_absent_is_listed_with_a_reason(tmp_path):
    names = printed(HERE / "public_names.py")
    assert sum(map(len, names.values())) > 2000
    file = tmp_path / "names.json"
    file.write_text(json.dumps(names))
    missing = printed("-m", "rabbet_jax", HERE / "public_names.py", file)
    listed = json.loads((HERE / "absent_names.json").read_text())
    unlisted = {m: sorted(set(n) - set(listed.get(m, {"names": []})["names"])) for m, n in missing.items()}
    assert not {m: n for m, n in unlisted.items() if n}
    assert all(entry["reason"] for entry in listed.values())
