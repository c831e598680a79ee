"""Shardings: how an array is laid over devices. So far, whole arrays on one device."""


class Sharding:
    """Base of all shardings."""

    __slots__ = ()


class SingleDeviceSharding(Sharding):
    """The whole array on one device.

    Args:
      device: a ``Device``.

    Example:
      >>> from rabbet.extend.backend import SingleDeviceSharding
      >>> here = SingleDeviceSharding(rb.devices()[0])
      >>> lax.full((2,), 1.0, sharding=here).device == rb.devices()[0]
      True
    """

    __slots__ = ("_device",)

    def __init__(self, device):
        self._device = device

    device_set = property(lambda self: {self._device}, doc="The set of devices, one.")
    addressable_devices = device_set
    is_fully_replicated = True
    is_fully_addressable = True

    def __eq__(self, other):
        return type(other) is SingleDeviceSharding and self._device == other._device

    def __hash__(self):
        return hash((SingleDeviceSharding, self._device))

    def __repr__(self):
        return f"SingleDeviceSharding(device={self._device!r})"
