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


def test_a_quick_plan_has_the_figures_of_a_whole_one(platform):
    """Products in smaller tiles; elsewhere than on TPUs the option is refused."""
    from rabbet import planning
    from rabbet.errors import ConfigError
    from rabbet.sharding import NamedSharding
    from rabbet.sharding import PartitionSpec as P
    from rabbet_plan.command import quick_options

    there = planning.topology("v5p:2x2x2" if platform == "tpu" else "h100:8")
    if platform != "tpu":
        with pytest.raises(ConfigError, match="--quick has no effect on h100:8"):
            quick_options(there)
        return
    mesh = there.mesh({"data": 8})
    place = lambda *spec: NamedSharding(mesh, P(*spec))
    x = rb.ShapeDtypeStruct((4096, 2048), "bfloat16", sharding=place("data"))
    w = rb.ShapeDtypeStruct((2048, 4096), "bfloat16", sharding=place("data"))
    loss = lambda w, x: (rb.numpy.tanh(x @ w) @ w.T).astype("float32").sum()
    whole, quick = [
        planning.plan(rb.grad(loss), w, x, compiler_options=options)
        for options in (None, quick_options(there))
    ]
    assert quick.exchanges == whole.exchanges and quick.flops == whole.flops
    assert quick.estimate == whole.estimate
    assert quick.memory.temporaries == pytest.approx(whole.memory.temporaries, rel=0.02)
    assert quick.memory.code < whole.memory.code  # the tiles are smaller
