"""Collective operations on the links of switches, tori and networks, worked out by hand."""

import dataclasses

import pytest
from rabbet_plan.collective_times import Layout, Place, layout_of, seconds_in, seconds_of, told
from rabbet_plan.collectives import Collective
from rabbet_plan.hardware import TABLE, Hardware

pytestmark = pytest.mark.needs("cpu")
ROUND = Hardware("round", "Round", 1 << 30, 1e9, {"f32": 1e9}, 1e8, 1e6, 1, 1e3, 0.0, 0.0, "a test")
LATE = dataclasses.replace(ROUND, latency=1.0, network_latency=100.0)
SWITCHES = [Place(n // 8, 0, None) for n in range(1024)]


def collective(kind, groups, sent):
    return Collective(kind, ("x",), groups, len(groups[0]), 0, sent, 1, True, ("f32",), "c", "")


def summed(size, count):
    return collective("all-reduce", (tuple(range(count)),), 2 * size * (count - 1) / count)


def test_how_groups_lie():
    assert layout_of(range(16), SWITCHES) == Layout(2, 8, ())
    assert layout_of(range(0, 64, 8), SWITCHES) == Layout(8, 1, ())
    torus = [Place(n // 8, n // 64, ((n % 64) // 16, (n // 4) % 4, n % 4)) for n in range(128)]
    assert layout_of(range(64), torus) == Layout(1, 64, (4, 4, 4))
    assert layout_of(range(128), torus) == Layout(2, 64, (4, 4, 4))
    assert layout_of(range(4), torus) == Layout(1, 4, (4,))


def test_a_sum_over_hosts_uses_the_adapters_of_all():
    # 16 devices on 2 hosts, 1600 bytes each: scattered and gathered on the switch (7/8 of it, twice), and an
    # eighth, 200 bytes, summed over two hosts: half of it sent, twice.
    found = seconds_in(summed(1600, 16), ROUND, Layout(2, 8, ()))
    assert found == pytest.approx(2 * (1600 * 7 / 8 / 1e6 + 200 / 2 / 1e3))


def test_rounds_grow_with_the_logarithm_of_hosts():
    nothing = summed(0, 1024)
    for hosts, rounds in ((2, 1), (128, 7), (100, 7)):
        assert seconds_in(nothing, LATE, Layout(hosts, 8, ())) == 2 * (7 * 1.0 + rounds * 100.0)
    # A torus is sent around both ways: half of each length.
    assert seconds_in(nothing, LATE, Layout(1, 64, (4, 16))) == 2 * (2 + 8)
    scattered = collective("reduce-scatter", (tuple(range(64)),), 0.0)
    assert seconds_in(scattered, LATE, Layout(1, 64, (4, 16))) == 2 + 8


def test_an_exchange_crosses_the_middle_of_a_torus():
    # 8 devices in a ring, each with 800 bytes for all: 800 * 8 / 8 over each link.
    around = collective("all-to-all", (tuple(range(8)),), 700.0)
    assert seconds_in(around, ROUND, Layout(1, 8, (8,))) == pytest.approx(800 / 1e6)
    assert seconds_in(around, ROUND, Layout(1, 8, ())) == pytest.approx(700 / 1e6)
    assert seconds_in(around, ROUND, Layout(2, 4, ())) == pytest.approx(400 / 1e3)


def test_small_sums_over_a_thousand_gpus():
    """162 of 2.5 MiB, as a step of a large model has them: 1.66 s by rings, which grow with the devices."""
    each = seconds_of(summed(2.5 * 2**20, 1024), TABLE["h100"], SWITCHES)
    assert 0.010 < 162 * each < 0.050


def test_links_are_told():
    assert told(summed(1, 16), TABLE["h100"], SWITCHES) == "8 on a switch, 450 GB/s, 2 hosts by 8 x 50 GB/s"
    grid = [Place(0, 0, (n // 4, n % 4)) for n in range(16)]
    assert told(summed(1, 16), TABLE["v5e"], grid) == "a torus of 4x4, 200 GB/s"
