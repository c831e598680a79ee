"""A process that offers arrays and waits until it is told to end."""

import sys

import numpy as np
import rabbet as rb
from rabbet.experimental import transfer

server = transfer.start_transfer_server()
w = rb.device_put(np.arange(6, dtype=np.float32).reshape(2, 3))
server.await_pull(1, {"w": w, "n": rb.device_put(np.int32(7))})
server.await_pull(2, [rb.device_put(np.ones(4, np.float32))])
print(server.address(), flush=True)
for line in sys.stdin:
    if line.startswith("offer"):
        server.await_pull(int(line.split()[1]), rb.device_put(np.full(3, 5.0, np.float32)))
        print("offered", flush=True)
