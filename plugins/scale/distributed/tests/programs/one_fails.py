"""Says who it is; one process fails, and the others would wait for long."""

import sys
import time

import rabbet as rb

rb.distributed.initialize()
me = rb.process_index()
print(f"process {me} of {rb.process_count()}: {sys.argv[1:]}")
print("a line without an end", end="")
if me == 1:
    sys.exit(7)
time.sleep(3600)
