"""``jax.extend.sharding``: shardings as the compiler has them, as bytes and as jaxlib's objects."""

from jaxlib import xla_client


def get_op_sharding_from_serialized_proto(sharding):
    """The ``OpSharding`` that the bytes describe."""
    made = xla_client.OpSharding()
    made.ParseFromString(sharding)
    return made


def get_hlo_sharding_from_serialized_proto(sharding):
    """The ``HloSharding`` that the bytes describe."""
    return xla_client.HloSharding.from_proto(get_op_sharding_from_serialized_proto(sharding))


def get_serialized_proto_from_hlo_sharding(sharding):
    """The bytes that describe an ``HloSharding``."""
    return sharding.to_proto().SerializeToString()


ABSENT = "GSPMDSharding"
__all__ = [
    "get_hlo_sharding_from_serialized_proto",
    "get_op_sharding_from_serialized_proto",
    "get_serialized_proto_from_hlo_sharding",
]
