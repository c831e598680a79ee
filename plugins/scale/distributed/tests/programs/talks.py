"""Says one line after another; ends when it is told to, after it has said so."""

import os
import signal
import sys
import time


def told(number, frame):
    print("told to end", flush=True)
    sys.exit(0)


signal.signal(signal.SIGTERM, told)
print("process", os.getpid(), flush=True)
while True:
    print("a line", flush=True)
    time.sleep(0.05)
