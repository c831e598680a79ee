"""Counts steps together; the process of slot 1 dies at step 3, is started again, and joins the others."""

import os
import sys
import time
from pathlib import Path

import numpy as np
import rabbet as rb
from rabbet.distributed import PeerLost
from rabbet.experimental import multihost_utils as utils

died = Path(sys.argv[1])
slot = int(os.environ["RABBET_PROCESS_ID"])
print("slot", slot, "has started", file=sys.stderr)
rb.distributed.initialize()


def settled(step):
    """The step at which process 0 is, which is never one that has just joined."""
    return int(utils.broadcast_one_to_all(np.int32(step)))


step, sizes = settled(0), []
while not (sizes[-1:] == [3] and step >= 8):  # all know both, so they end together
    try:
        if rb.distributed.joining():
            rb.distributed.reform()
            step = settled(step)
            continue  # who has joined begins the loop, too
        if slot == 1 and step == 3 and not died.exists():
            died.touch()
            os._exit(3)
        assert utils.process_allgather(np.int32(step)).tolist() == [step] * rb.process_count()
        sizes.append(rb.process_count())
        step += 1
        time.sleep(0.05)
    except PeerLost:
        rb.distributed.reform()
        step = settled(step)
rb.distributed.shutdown()
print(f"slot {slot} saw {sorted(set(sizes))}")
