"""Every topology that docs/planning.md names: a program is compiled for it, with an estimate and a report."""

import pytest
import rabbet as rb

pytestmark = pytest.mark.needs("jit", "numpy", "sharding", "planning")
NAMES = {
    "tpu": ["v2:2x2", "v3:2x2", "v4:2x2x1", "v5e:2x4", "v5p:2x2x2", "v6e:2x2", "tpu7x:2x2x1"],
    "cuda": ["h100:8", "h100:2x4", "h100:1x2x4", "h200:1x8", "a100:8", "a100-40gb:8", "1x2x4"],
}


@pytest.mark.parametrize("number", range(7))
def test_every_documented_topology(platform, number):
    from rabbet import planning
    from rabbet.sharding import NamedSharding
    from rabbet.sharding import PartitionSpec as P

    there = planning.topology(NAMES[platform][number])
    mesh = there.mesh({"data": len(there) // 2, "model": 2})
    place = lambda *spec: NamedSharding(mesh, P(*spec))
    assert "NamedSharding" in repr(place("data"))  # which tells the memory
    x = rb.ShapeDtypeStruct((256, 256), "bfloat16", sharding=place("data", "model"))
    w = rb.ShapeDtypeStruct((256, 256), "bfloat16", sharding=place("model"))
    found = planning.plan(lambda x, w: (x @ w).astype("float32").sum(), x, w)
    assert found.devices == len(there) and found.fits and found.exchanges
    assert 0 < found.estimate.least <= found.estimate.most and found.estimate.links
    assert "links of" in found.report() and found.training(256 * 256, 256).mfu > 0
