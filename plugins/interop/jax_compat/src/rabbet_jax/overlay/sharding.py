"""``jax.sharding``: what rabbet.sharding offers where rabbet-parallel is installed."""

ABSENT = (
    "AbstractMesh AxisType Mesh NamedSharding PartitionSpec Sharding SingleDeviceSharding set_mesh "
    "get_abstract_mesh"
)
