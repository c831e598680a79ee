"""``jax.sharding``: what rabbet.sharding offers where rabbet-parallel is installed."""

from dataclasses import dataclass

from rabbet.extend.sharding import ManualAxisType, SingleDeviceSharding

ABSENT = (
    "AbstractMesh AxisType Mesh NamedSharding PartitionSpec Sharding SingleDeviceSharding set_mesh "
    "get_abstract_mesh"
)
UnreducedKind = vars(ManualAxisType)["kinds"]


@dataclass(frozen=True)
class AbstractDevice:
    """What kind of device an ``AbstractMesh`` is meant for."""

    device_kind: str
    num_cores: int | None
    platform: str


def make_single_device_sharding(device, *, memory_kind=None):
    """Arrays that lie on one device."""
    return SingleDeviceSharding(device, memory_kind=memory_kind)


__all__ = ["AbstractDevice", "ManualAxisType", "UnreducedKind", "make_single_device_sharding"]
