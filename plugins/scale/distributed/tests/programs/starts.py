"""What goes wrong when processes start; each failure is an exception, after which the process goes on."""

import sys

import pytest
import rabbet as rb
from rabbet.distributed import CoordinatorError

case, port = sys.argv[1:]
address = f"127.0.0.1:{port}"
if case == "alone":  # the coordinator is there, the other process is not
    with pytest.raises(TimeoutError, match=r"did not come|not all processes"):
        rb.distributed.initialize(address, 2, 0, initialization_timeout=8)
elif case == "nobody":
    with pytest.raises(TimeoutError, match=f"no coordinator could be reached at {address} within 1 s"):
        rb.distributed.initialize(address, 2, 1, initialization_timeout=1)
elif case == "taken":
    import socket

    with (
        socket.create_server(("", int(port))),
        pytest.raises(CoordinatorError, match="Address already in use"),
    ):
        rb.distributed.initialize(address, 1, 0, coordinator_bind_address=f"0.0.0.0:{port}")
elif case == "late":
    rb.devices()
    with pytest.raises(RuntimeError, match="before the first array"):
        rb.distributed.initialize(address, 1, 0)
elif case == "one":
    rb.distributed.initialize(address, 1, 0)
    assert (rb.process_index(), rb.process_count(), float(rb.device_put(1.0) + 1)) == (0, 1, 2.0)
    rb.distributed.shutdown()
    rb.distributed.shutdown()
    assert not rb.distributed.is_initialized()
print(float(rb.device_put(2.0) * 3), "all is well")
