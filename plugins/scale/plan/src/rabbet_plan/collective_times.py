"""How long a collective operation takes on the links that its groups have.

A group extends over *domains*: hosts of GPUs, slices of TPUs. Within one every device reaches the others by
fast links (a switch, or a torus of links along each direction); domains are joined by the network, on which
each device has an adapter of its own, as NVIDIA's DGX hosts have.

The algorithms are hierarchical, as NCCL's trees and the reductions of TPUs over slices are: a sum over all
is scattered within the domains, summed over the network by devices of one place each, so that all adapters
of a domain send at once, and gathered within the domains. Bytes are those of the algorithms that send least
(Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of workstations"); rounds are

- on a switch of ``g`` devices ``g - 1`` for a scattering or gathering,
- along a torus ``d / 2`` for each direction of length ``d``, whose ring is sent around both ways,
- over the network of ``m`` domains ``log2 m``, by double binary trees or by recursive doubling (Sanders,
  Speck and Träff 2009, "Two-tree algorithms for full bandwidth broadcast, reduction and scan"; NCCL has used
  them since version 2.4, says NVIDIA's blog "Massively Scale Your Deep Learning Training with NCCL 2.4").

Exchanges of everybody with everybody cross the middle of a torus: along a direction of length ``d`` a device
sends ``d / 8`` of what it has over each of its two links ("How to Scale Your Model", chapter "Sharded
matrices").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from rabbet_plan.collectives import Collective
from rabbet_plan.hardware import Hardware

EXCHANGES = ("all-to-all", "ragged-all-to-all")


class Place(NamedTuple):
    """Where a device stands: the number of its host and of its slice, and its coordinates, if it has any."""

    host: int
    slice: int
    coordinates: tuple[int, ...] | None


class Layout(NamedTuple):
    """How a group lies: ``domains``, how many; ``inner``, how many members the largest of them has; and the
    ``lengths`` of the directions along which these extend, of a switch none.
    """

    domains: int
    inner: int
    lengths: tuple[int, ...]


def layout_of(group: Sequence[int], places: Sequence[Place]) -> Layout:
    """How a group lies. Chips with coordinates are joined throughout their slice, others within a host."""
    domains: dict[object, list[Place]] = {}
    for n in group:
        place = places[n]
        domains.setdefault((place.slice, None if place.coordinates else place.host), []).append(place)
    members = max(domains.values(), key=len)
    if any(p.coordinates is None for p in members):
        return Layout(len(domains), len(members), ())
    lengths = [len(set(along)) for along in zip(*[p.coordinates for p in members], strict=True)]  # type: ignore[misc]
    return Layout(len(domains), len(members), tuple([n for n in lengths if n > 1]))


def seconds_of(each: Collective, hardware: Hardware, places: Sequence[Place]) -> float:
    """How long one round of a collective operation takes, on the slowest of its groups."""
    layouts = {layout_of(group, places) for group in each.groups}
    return max([seconds_in(each, hardware, layout) for layout in layouts])


def seconds_in(each: Collective, hardware: Hardware, layout: Layout) -> float:
    """The same in one group."""
    domains, inner, lengths = layout
    if each.kind == "collective-permute":
        if domains > 1:
            return each.sent / hardware.network + hardware.network_latency
        return each.sent / hardware.link + hardware.latency
    if each.kind in EXCHANGES:
        return exchanged(each, hardware, layout)
    twice = 2 if each.kind == "all-reduce" else 1
    # What is scattered or gathered in all: a device sends all of it but its own part.
    whole = each.sent / twice * each.size / (each.size - 1)
    links = hardware.link * hardware.links * max(1, len(lengths))
    hops = sum([n // 2 for n in lengths]) if lengths else inner - 1
    once = whole * (inner - 1) / inner / links + hops * hardware.latency
    if domains > 1:
        once += whole / inner * (domains - 1) / domains / hardware.network
        once += math.ceil(math.log2(domains)) * hardware.network_latency
    return twice * once


def exchanged(each: Collective, hardware: Hardware, layout: Layout) -> float:
    """An exchange of everybody with everybody."""
    domains, inner, lengths = layout
    held = each.sent * each.size / (each.size - 1)  # what a device has for all
    near = held * inner / each.size
    if lengths:
        seconds = max([near * n / 8 / hardware.link for n in lengths])
        seconds += sum([n // 2 for n in lengths]) * hardware.latency
    else:
        seconds = near * (inner - 1) / inner / hardware.link / hardware.links + hardware.latency
    if domains > 1:
        far = held * (domains - 1) / domains
        seconds = max(seconds, far / hardware.network) + hardware.network_latency
    return seconds


def told(each: Collective, hardware: Hardware, places: Sequence[Place]) -> str:
    """The links that a collective operation uses, as a person reads them."""
    layouts = {layout_of(group, places) for group in each.groups}
    domains, inner, lengths = max(layouts, key=lambda found: (found.domains, found.inner))
    parts = []
    if inner > 1 and lengths:
        shown = "x".join(map(str, lengths))
        speed = hardware.link * hardware.links * len(lengths)
        parts.append(f"a torus of {shown}, {speed / 1e9:.0f} GB/s")
    elif inner > 1:
        parts.append(f"{inner} on a switch, {hardware.link * hardware.links / 1e9:.0f} GB/s")
    if domains > 1:
        parts.append(
            f"{domains} {'slices' if lengths else 'hosts'} by {inner} x {hardware.network / 1e9:.4g} GB/s"
        )
    return ", ".join(parts)


__all__ = ["Layout", "Place", "layout_of", "seconds_in", "seconds_of", "told"]
