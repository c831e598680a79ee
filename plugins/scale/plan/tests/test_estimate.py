"""Estimates of time, worked out by hand on hardware of round numbers."""

import pytest
import rabbet as rb
from rabbet import planning
from rabbet.extend.native import hlo_computation
from rabbet.sharding import NamedSharding
from rabbet.sharding import PartitionSpec as P
from rabbet_plan.collectives import Collective
from rabbet_plan.estimate import Place, estimate, seconds_of, source_of
from rabbet_plan.execution_counts import steps
from rabbet_plan.hardware import TABLE, Hardware
from rabbet_plan.hlo import Module
from rabbet_plan.kernels import Product, product_of, share

pytestmark = pytest.mark.needs("cpu", "numpy")
ROUND = Hardware("round", "Round", 1 << 30, 1e9, {"f32": 1e9}, 1e8, 1e6, 2, 1e3, 0.0, 0.0, "a test")
HOSTS = [Place(n // 2, 0, None) for n in range(4)]
GRID = [Place(n // 2, 0, (n // 2, n % 2)) for n in range(4)]


def collective(kind, groups, sent=1000.0):
    return Collective(kind, ("x",), groups, len(groups[0]), 1000, sent, 1, True, ("f32",), "c", "")


def test_links():
    within, across = collective("all-reduce", ((0, 1), (2, 3))), collective("all-reduce", ((0, 2), (1, 3)))
    assert seconds_of(within, ROUND, HOSTS) == 1000 / 2e6  # both ways at once
    assert seconds_of(across, ROUND, HOSTS) == 1.0  # hosts without coordinates: the network
    assert seconds_of(across, ROUND, GRID) == 1000 / 2e6  # chips of a slice have links of their own
    everything = collective("all-gather", ((0, 1, 2, 3),))
    assert seconds_of(everything, ROUND, GRID) == 1000 / 4e6  # along two directions
    assert seconds_of(collective("collective-permute", ((0, 1),)), ROUND, GRID) == 1000 / 1e6
    slices = [Place(0, n // 2, (0, 0)) for n in range(4)]
    assert seconds_of(across, ROUND, slices) == 1.0


def test_a_matrix_product():
    mesh = planning.topology("cpu:2").mesh({"x": 2})
    place = NamedSharding(mesh, P("x"))
    a = rb.ShapeDtypeStruct((200, 100), "float32", sharding=place)
    b = rb.ShapeDtypeStruct((100, 50), "float32", sharding=NamedSharding(mesh, P()))
    module = Module(rb.jit(lambda a, b: a @ b).lower(a, b).compile().executable.module_proto())
    found = estimate(steps(module), [], ROUND, HOSTS)
    assert found.arithmetic == pytest.approx(2 * 100 * 100 * 50 / 1e9)
    assert found.memory == pytest.approx(4 * (100 * 100 + 100 * 50 + 100 * 50) / 1e9)
    assert found.compute == found.least == found.most == found.arithmetic


def test_the_table_is_whole():
    for name, each in TABLE.items():
        assert name == each.name and each.source and each.measured
        assert each.memory > 1 << 32 and 1e11 < each.bandwidth < 1e13
        assert 1e13 < each.speed("bf16") < 1e16 and each.speed("s4") >= each.speed("bf16")
        assert each.other < each.speed("bf16") and each.network < each.link
        assert each.speed("c64") == each.other


def test_what_was_reached_takes_the_place_of_peaks():
    h100, v5e = TABLE["h100"], TABLE["v5e"]
    reached = h100.sustained()
    assert reached.speed("bf16") == pytest.approx(989.5e12 * 794.5 / 989) and reached.link == 370e9
    assert reached.bandwidth == 0.9 * h100.bandwidth and reached.network == 48.5e9
    assert reached.sustained() == reached and "NCCL" in source_of(h100)
    assert v5e.sustained().matrix == v5e.matrix and source_of(v5e) == v5e.source


def test_parts_of_products_fill_multiprocessors_or_wait():
    assert share(Product(1, 256, 128 * 108, 64), 108) == 1.0
    # 218 parts of 128 by 128 take three rounds, of 256 by 128 two that are twice as long.
    assert share(Product(1, 256, 128 * 108 + 1, 64), 108) == pytest.approx(2 / 3, rel=1e-3)
    assert share(Product(4, 1, 128, 64), 108) == 4 / 108 / 128  # a row each: most of four parts is empty
    assert share(Product(96, 2048, 2048, 128), 108) > 0.97


def test_the_sizes_of_products():
    """Of a product as the compiler keeps it, and of none."""
    mesh = planning.topology("cpu:2").mesh({"x": 2})
    typed = lambda *shape: rb.ShapeDtypeStruct(shape, "float32", sharding=NamedSharding(mesh, P()))
    found = rb.jit(lambda a, b: rb.lax.batch_matmul(a, b)).lower(typed(3, 40, 100), typed(3, 100, 50))
    text = found.lowering.module.key_text
    module = Module(hlo_computation(text).as_serialized_hlo_module_proto())
    sizes = [product_of(i) for i in module.entry.instructions]
    assert [s for s in sizes if s] == [Product(3, 40, 50, 100)]


def test_assumptions_are_told():
    assert "data sheet" in TABLE["h100"].source and "Google" in TABLE["v5e"].source
    assert "Jouppi" in TABLE["v3"].source and "network" in TABLE["tpu7x"].source.partition("assumed")[2]
    assert "network" not in TABLE["v5p"].source.partition("assumed")[2]
    assert TABLE["tpu7x"].speed("s8") == TABLE["tpu7x"].speed("bf16")  # nothing is sure of its int8


def test_the_hardware_that_is_here():
    here = planning.measured_hardware(1)
    speeds = (here.speed("f32"), here.other, here.bandwidth, here.memory)
    assert all(0 < each < 1e18 for each in speeds) and "measured" in here.source
    mesh = planning.topology("cpu:4").mesh({"x": 4})
    x = rb.ShapeDtypeStruct((64, 32), "float32", sharding=NamedSharding(mesh, P("x")))
    assert planning.plan(lambda x: (x @ x.T).sum(), x).estimate is None  # of CPUs nothing is published
    found = planning.plan(lambda x: (x @ x.T).sum(), x, hardware=ROUND)
    assert found.estimate.source == "a test" and found.capacity == ROUND.memory
    assert 0 < found.estimate.least <= found.estimate.most
    assert found.estimate.communication[("x",)] > 0
    with pytest.raises(rb.errors.ConfigError, match="99 CPU devices, and there are"):
        planning.measured_hardware(99)
