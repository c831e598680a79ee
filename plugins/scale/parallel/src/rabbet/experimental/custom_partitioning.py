"""Functions whose authors say how the compiler cuts them up over devices."""

from rabbet_parallel.custom_partitioning_function import custom_partitioning
from rabbet_parallel.sharding_rules import BATCHING, ArrayMapping, CompoundFactor, SdyShardingRule

from rabbet.extend.functions import public_module as _public_module

__all__ = ["BATCHING", "ArrayMapping", "CompoundFactor", "SdyShardingRule", "custom_partitioning"]

_public_module(globals())
