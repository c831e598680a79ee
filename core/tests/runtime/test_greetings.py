"""What libraries print where all is well is left out, and nothing else."""

import subprocess
import sys

SAYS = """
import os, subprocess, sys, threading, time
from rabbet.runtime.jaxlib.greetings import left_out

def say(text):
    os.write(1, text)

with left_out():
    say(b"before\\n[Gloo] Rank 0 is connected to 1 peer ranks. Expected: 1\\nno end")
    with left_out():  # the outer one goes on
        say(b", then\\n[Gl")
    say(b"oo] Rank 1 is connected\\n[Gloo] Error: a peer is gone\\n[Glow]\\n")
    child = subprocess.Popen([sys.executable, "-c", "input(); print('a child')"], stdin=subprocess.PIPE)
    print("printed", flush=True)
    say(b"\\n\\xff" + 300000 * b"x" + b"\\n[Gl")
say(b"|behind\\n[Gloo] Rank 2 of somebody\\n")
child.communicate(b"\\n")
time.sleep(float(sys.argv[1]))
os.close(1)
with left_out():
    sys.stderr.write("no output is no error")
"""


def test_greetings_are_left_out():
    done = subprocess.run(
        [sys.executable, "-c", SAYS, "0.3"], capture_output=True, timeout=600, check=False
    )
    assert done.returncode == 0 and done.stderr == b"no output is no error", done.stderr
    said = done.stdout.replace(300000 * b"x", b"many")
    start = b"before\nno end, then\n[Gloo] Error: a peer is gone\n[Glow]\nprinted\n\n\xffmany\n"
    assert said.startswith(start), said
    # The part of a line waits for its end, which another process may still write.
    assert sorted(said.removeprefix(start).splitlines()) == sorted(
        [b"|behind", b"[Gloo] Rank 2 of somebody", b"[Gla child"]
    )
