"""Run the program with jaxlib alone, without Rabbet and without JAX: ``python load.py predict.stablehlo``."""

import sys

import numpy as np
from jaxlib import _jax, xla_client

client = xla_client.make_cpu_client()
(device,) = client.local_devices()
with open(sys.argv[1], "rb") as file:
    program = client.compile_and_load(file.read(), _jax.DeviceList((device,)), _jax.CompileOptions())


class Sharding(_jax.SingleDeviceSharding):
    memory_kind = property(lambda self: self._memory_kind)

    def _to_xla_hlo_sharding(self, ndim):
        return xla_client.HloSharding.replicate()


class Type:
    def __init__(self, shape, dtype):
        self.shape, self.dtype, self.weak_type = shape, np.dtype(dtype), False


def put(x):
    return _jax.batched_device_put(
        Type(x.shape, x.dtype), Sharding(device), [x], [device], True, enable_x64=True
    )


def run(*arrays, result):
    extra = (True,) if "_skip_checks" in _jax.array_result_handler.__doc__ else ()  # 0.10
    handler = _jax.array_result_handler(result, Sharding(device), True, *extra)
    return np.asarray(program.execute_sharded([put(x) for x in arrays]).consume_with_handlers([handler])[0])


# PJRT compares sizes only: shapes and dtypes are for the caller to get right.
x = np.arange(12, dtype=np.float32).reshape(4, 3) / 10
print(run(x, result=Type((4, 2), "float32")))
