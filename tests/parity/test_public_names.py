"""Every public name of JAX is here, or stands in ``absent_names.json`` with the reason."""

import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent


def test_what_is_absent_is_listed_with_a_reason():
    """Of the newest jax, every public module, and of what only an older one has."""
    tool = HERE.parents[1] / "tools" / "write" / "absent_names.py"
    env = {**os.environ, "JAX_PLATFORMS": "cpu"}
    ran = subprocess.run([sys.executable, str(tool), "--check"], capture_output=True, text=True, env=env)
    assert ran.returncode == 0, ran.stderr
    listed = json.loads((HERE / "absent_names.json").read_text())
    assert all(reason and names for reasons in listed.values() for reason, names in reasons.items())
