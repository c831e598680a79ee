"""``fwd_and_bwd`` compiles with the package rabbet-jit, and says so where that is not installed."""

import os
import subprocess
import sys

PROGRAM = """
import rabbet as rb
from rabbet.errors import MissingPluginError
calls = []
def square(x):
    calls.append(1)
    return x * x
fwd, bwd = rb.fwd_and_bwd(square, argnums=0, jitted=False)
y, residuals = fwd(3.0)
print(float(y), float(bwd(residuals, 1.0)), len(calls))
try:
    rb.fwd_and_bwd(square, argnums=0)
except MissingPluginError as error:
    print("rb.jit" in str(error), len(calls))
"""


def test_without_jit_only_what_is_compiled_is_missing():
    env = {**os.environ, "RABBET_DISABLE_PLUGINS": "rabbet_jit"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True)
    assert done.stdout.split() == ["9.0", "6.0", "1", "True", "1"], done.stderr
