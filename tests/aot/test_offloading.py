"""The carries of a loop that a policy offloads, compiled for hardware that is not here: they leave the figure
of the device's memory and appear in the host's.
"""

import numpy as np
import pytest
import rabbet as rb
import rabbet.numpy as rnp
from rabbet import lax
from rabbet.ad_checkpoint import checkpoint_name

pytestmark = pytest.mark.needs("jit", "numpy", "grad", "checkpoint", "sharding", "planning")
LAYERS, ROWS, WIDTH = 32, 16384, 256


def layer(h, w):
    h = checkpoint_name(h, "h")
    return h + rnp.tanh(h @ w) @ w.T, None


def memory_of(topology, policy):
    from rabbet import planning
    from rabbet.sharding import NamedSharding
    from rabbet.sharding import PartitionSpec as P

    mesh = planning.topology(topology).mesh({"data": 4})
    place = lambda *spec: NamedSharding(mesh, P(*spec))
    w = rb.ShapeDtypeStruct((LAYERS, WIDTH, WIDTH), np.float32, sharding=place())
    x = rb.ShapeDtypeStruct((4 * ROWS, WIDTH), np.float32, sharding=place("data"))
    loss = lambda w, x: (lax.scan(rb.checkpoint(layer, policy=policy), x, w)[0] ** 2).sum()
    return rb.jit(rb.grad(loss)).lower(w, x).compile().memory_analysis()


def test_offloaded_carries_leave_the_device(platform):
    topology = {"tpu": "v5e:2x2", "cuda": "h100:1x4"}[platform]
    policies, carries = rb.checkpoint_policies, LAYERS * ROWS * WIDTH * 4
    saved = memory_of(topology, policies.save_only_these_names("h"))
    away = memory_of(
        topology,
        policies.save_and_offload_only_these_names(
            names_which_can_be_saved=[], names_which_can_be_offloaded=["h"], offload_src="device",
            offload_dst="pinned_host",
        ),
    )  # fmt: skip
    assert saved.host_temp_size_in_bytes == 0
    assert away.host_temp_size_in_bytes >= carries / 2  # what is in bfloat16 on the way counts half
    assert away.temp_size_in_bytes < saved.temp_size_in_bytes - 0.4 * carries
