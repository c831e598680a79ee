"""What may end a process is tried in a process of its own."""

import os
import subprocess
import sys
import textwrap

import pytest

START = "import numpy as np, rabbet as rb, rabbet.numpy as rnp\nfrom rabbet import lax\n"


@pytest.fixture
def child(tmp_path):
    """``child(source, **environment)``: what a Python process with the usual imports printed. It
    must end well; if not, what its threads did is in the message. With ``quiet=True`` it must write nothing
    to stderr.

    Each test gives several attempts to one process: to start one takes most of a second.
    """

    def run(source, *, quiet=False, **environment):
        done = subprocess.run(
            [sys.executable, "-c", START + textwrap.dedent(source)],
            cwd=tmp_path,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONFAULTHANDLER": "1", **environment},
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, (
            f"exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
        assert not (quiet and done.stderr), done.stderr[-2000:]
        return done.stdout

    return run
