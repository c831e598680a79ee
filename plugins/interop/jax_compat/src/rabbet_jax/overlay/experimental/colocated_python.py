"""``jax.experimental.colocated_python``: Python that runs where arrays are. Here that is this process: the
functions and objects are called as they are, and arrays of other processes are refused.
"""

import functools

import numpy as np
import rabbet as rb
from rabbet import Array, tree
from rabbet.sharding import Mesh

OPEN = True  # every other name can be read


def colocated_cpu_devices(devices_or_mesh):
    """The CPU devices beside accelerators: of each the one of the same process at its place, as a tuple, or
    as a mesh of the same axes. CPU devices are their own.
    """
    if isinstance(devices_or_mesh, Mesh):
        mesh = devices_or_mesh
        beside = np.array(colocated_cpu_devices(tuple(mesh.devices.flat)), object)
        return Mesh(beside.reshape(mesh.devices.shape), mesh.axis_names, axis_types=mesh.axis_types)
    devices = tuple(devices_or_mesh)
    if all(d.platform == "cpu" for d in devices):
        return devices
    own = {d.platform: [e for e in rb.devices(d.platform) if e.process_index == d.process_index]
           for d in devices}  # fmt: skip
    here, found = rb.local_devices(backend="cpu"), []
    for d in devices:
        place = own[d.platform].index(d)
        if d.process_index != rb.process_index() or place >= len(here):
            raise ValueError(
                f"colocated_cpu_devices: this process has no CPU device for {d}; RABBET_NUM_CPU_DEVICES says "
                f"how many there are, now {len(here)}"
            )
        found.append(here[place])
    return tuple(found)


def local(who, args):
    """Refuse arrays that other processes have parts of."""
    for x in tree.leaves(args):
        if isinstance(x, Array) and not x.is_fully_addressable:
            raise NotImplementedError(
                f"colocated_python: {who} is given an array over devices of other processes, and Rabbet runs "
                "such functions in this process alone\n  to fix: call it in each process with the parts that "
                "are there, x.addressable_shards"
            )


def colocated_python(fun):
    """A function that is called where its arrays are; see the module."""

    @functools.wraps(fun)
    def call(*args, **kwargs):
        local(getattr(fun, "__qualname__", fun), (args, kwargs))
        return fun(*args, **kwargs)

    def specialize(in_specs=None, out_specs_fn=None, devices=None):
        """The same function: what JAX is told here to know beforehand need not be known."""
        return call

    call.specialize = specialize  # type: ignore[attr-defined]
    return call


def colocated_python_class(cls):
    """A class whose objects live where their arrays are, which is here: the class itself."""
    return cls
