"""Writes one checkpoint after another, until somebody ends it."""

import sys

import numpy as np
import rabbet as rb

checkpoints = rb.store.Checkpoints(sys.argv[1], keep=3)
step = checkpoints.latest() or 0
while True:
    step += 1
    checkpoints.save(step, {"x": rb.device_put(np.full((64, 64), step, np.float32)), "step": step})
