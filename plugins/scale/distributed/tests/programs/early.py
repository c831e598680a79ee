"""Three processes, of which the last one is killed when it has come, before all have listed their devices."""

import os
import signal

import pytest
import rabbet as rb

rb.distributed.initialize()
slot = int(os.environ["RABBET_PROCESS_ID"])
if slot == 2:
    os.kill(os.getpid(), signal.SIGKILL)
with pytest.raises(rb.errors.PeerLost, match="the devices of all processes cannot be listed") as caught:
    rb.devices()
assert 2 in caught.value.ranks, caught.value.ranks
rb.distributed.reform(timeout_seconds=300)
assert rb.process_count() == 2 == rb.device_count()
print("all is well")
