"""Two processes compute together, and a third one that was not asked writes beats in the name of process 1,
which say that it has ended, until one was seen and refused.
"""

import os
import subprocess
import sys
import time
import warnings

import numpy as np
import rabbet as rb
from rabbet.experimental import multihost_utils

ATTACK = """
import json, os, select, sys, time
from jaxlib import _jax
client = _jax.get_distributed_runtime_client(sys.argv[1], 1, init_timeout=300, shutdown_timeout=2)
client.connect()
beat = dict((k.split("/")[-1], v) for k, v in client.key_value_dir_get("beats"))["1"]
mark, code, count, text = beat.split(" ", 3)
told = json.loads(text)
told[1] += 10**6
told[3]["ended"] = True
text, forged = json.dumps(told), 0
while forged < 60 or not select.select([sys.stdin], [], [], 0)[0]:
    client.key_value_set("beats/1", f"{mark} {code} {count} {text}" if forged % 2 else text, True)
    forged += 1
    time.sleep(0.02)
print("attacker:", json.dumps({"forged": forged}), flush=True)
os._exit(0)
"""

rb.distributed.initialize()
child = None
if rb.process_index() == 0:
    address = os.environ["RABBET_COORDINATOR_ADDRESS"]
    child = subprocess.Popen([sys.executable, "-c", ATTACK, address], stdin=subprocess.PIPE)
seen = []
saying = warnings.showwarning
warnings.showwarning = lambda *about: seen.append(about) or saying(*about)
go_on = True
while go_on:
    if child is not None and seen and not child.stdin.closed:
        child.stdin.close()
    attacked = child is not None and child.poll() is None
    everybody = multihost_utils.process_allgather(np.int32([rb.process_index(), attacked]))
    assert everybody[:, 0].tolist() == [0, 1] and rb.distributed.lost() == {}
    go_on = bool(everybody[0, 1])
    time.sleep(0.05)
print("all is well", flush=True)
rb.distributed.shutdown()
