"""Orders of devices for meshes: which device stands at which place."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from rabbet import devices as all_devices
from rabbet.errors import ArgumentError, ShardingError
from rabbet.extend.functions import public_module as _public_module
from rabbet.extend.shapes import whole_number


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """An array of devices of the given shape, for ``Mesh``: neighbours in the order in which the platform
    lists them stand next to each other along the last axis.

    Args:
      mesh_shape: the sizes of the axes.
      devices: by default all of them.
      contiguous_submeshes, allow_split_physical_axes: accepted for programs that set them. They choose
        between orders on TPUs whose devices have coordinates; here devices stand in their order.

    Raises:
      ShardingError: (a ``ValueError``) where the shape has another number of places than there are devices.

    Example:
      >>> from rabbet.experimental import mesh_utils
      >>> mesh_utils.create_device_mesh((1, 1), rb.devices()[:1]).shape
      (1, 1)
    """
    there = list(all_devices() if devices is None else devices)
    for device in there:
        if not hasattr(device, "process_index"):  # those of jaxlib's clients have one, too
            raise ArgumentError(
                "create_device_mesh: devices must hold devices, as rb.devices() lists them, got "
                f"{device!r:.60}"
            )
    shape = tuple([whole_number("create_device_mesh", "an element of mesh_shape", n) for n in mesh_shape])
    if prod(shape) != len(there):
        raise ShardingError(
            f"create_device_mesh: mesh_shape {shape} has {prod(shape)} places, and there are {len(there)} "
            f"devices"
        )
    return _grid(there, shape)


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray:
    """An array of devices for a mesh over several slices (or processes) with a fast network in each: of each
    axis the slower part is outermost.

    Args:
      mesh_shape: the sizes of the axes within a slice.
      dcn_mesh_shape: those between slices, of the same length.
      devices: by default all of them.
      process_is_granule: take processes for slices, for devices that know no slice.
      should_sort_granules_by_key: order slices by their number.
      allow_split_physical_axes: accepted, see ``create_device_mesh``.

    Raises:
      ShardingError: where shapes, slices and devices do not fit; the message has the numbers.

    Example:
      >>> from rabbet.experimental import mesh_utils
      >>> one = rb.devices()[:1]
      >>> mesh_utils.create_hybrid_device_mesh((1,), (1,), one, process_is_granule=True).shape
      (1,)
    """
    if len(mesh_shape) != len(dcn_mesh_shape):
        raise ShardingError(
            f"create_hybrid_device_mesh: mesh_shape {tuple(mesh_shape)} and dcn_mesh_shape "
            f"{tuple(dcn_mesh_shape)} must have one length"
        )
    granules: dict[int, list] = {}
    for device in all_devices() if devices is None else devices:
        granules.setdefault(_granule(device, process_is_granule), []).append(device)
    if prod(dcn_mesh_shape) != len(granules):
        raise ShardingError(
            f"create_hybrid_device_mesh: dcn_mesh_shape {tuple(dcn_mesh_shape)} has "
            f"{prod(dcn_mesh_shape)} places, "
            f"and there are {len(granules)} {'processes' if process_is_granule else 'slices'}"
        )
    order = sorted(granules) if should_sort_granules_by_key else list(granules)
    inner = [create_device_mesh(mesh_shape, granules[key]) for key in order]
    places = np.arange(len(order)).reshape(tuple(dcn_mesh_shape))
    made = np.empty([a * b for a, b in zip(dcn_mesh_shape, mesh_shape, strict=True)], object)
    for where in np.ndindex(*dcn_mesh_shape):
        box = tuple([slice(i * n, (i + 1) * n) for i, n in zip(where, mesh_shape, strict=True)])
        made[box] = inner[places[where]]
    return made


def _granule(device: Any, process_is_granule: bool) -> int:
    if process_is_granule:
        return device.process_index
    number = getattr(device.raw, "slice_index", None)
    if number is None:
        raise ShardingError(
            f"create_hybrid_device_mesh: {device} knows no slice; give process_is_granule=True to take "
            "processes for slices"
        )
    return number


def _grid(devices: list, shape: tuple) -> np.ndarray:
    made = np.empty(len(devices), object)
    made[:] = devices
    return made.reshape(shape)


__all__ = ["create_device_mesh", "create_hybrid_device_mesh"]

_public_module(globals())
