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
    who = getattr(fun, "__qualname__", fun)

    @functools.wraps(fun)
    def call(*args, **kwargs):
        local(who, (args, kwargs))
        return fun(*args, **kwargs)

    call.specialize = functools.partial(specialized, call, who, None, None, None)  # type: ignore[attr-defined]
    return call


def specialized(call, who, *known, in_specs=None, out_specs_fn=None, devices=None):
    """The same function with promises, which are checked at each call.

    Args:
      in_specs: the types of the arguments: ``(args, kwargs)``, or the arguments alone; leaves have ``shape``
        and ``dtype``.
      out_specs_fn: from the types of the arguments, called as the function is, to those of the results.
      devices: where the results are, devices of this process; functions without arguments run there.

    Raises:
      ValueError: for a promise that was made before, and at calls that break one.
    """
    promises = []
    for word, before, now in zip(
        ("in_specs", "out_specs_fn", "devices"), known, (in_specs, out_specs_fn, devices), strict=True
    ):
        if before is not None and now is not None:
            raise ValueError(f"colocated_python: {who} has {word} already")
        promises.append(before if now is None else now)
    in_specs, out_specs_fn, devices = promises
    group = None if devices is None else tuple(devices)
    for device in group or ():
        if device.process_index != rb.process_index():
            raise NotImplementedError(
                f"colocated_python: {who} runs in this process, and {device} is of another"
            )

    @functools.wraps(call)
    def checked(*args, **kwargs):
        if in_specs is not None:
            pair = len(in_specs) == 2 and isinstance(in_specs[0], (tuple, list))
            with_kwargs = pair and isinstance(in_specs[1], dict)
            given = (args, kwargs) if with_kwargs else args
            wanted = (tuple(in_specs[0]), in_specs[1]) if with_kwargs else tuple(in_specs)
            agree(who, "arguments", "in_specs", given, wanted)
        if group is None:
            result = call(*args, **kwargs)
        else:
            with rb.default_device(group[0]):
                result = call(*args, **kwargs)
        if out_specs_fn is not None:
            place = lambda x: getattr(x, "sharding", None)
            of = lambda x: rb.ShapeDtypeStruct(np.shape(x), rb.typeof(x).dtype, sharding=place(x))
            specs, more = tree.map(of, (args, kwargs))
            agree(who, "results", "out_specs_fn", result, out_specs_fn(*specs, **more))
        allowed = set(group or ())
        for x in tree.leaves(result) if group is not None else ():
            if isinstance(x, Array) and not x.sharding.device_set <= allowed:
                raise ValueError(
                    f"colocated_python: {who} returned an array on {x.sharding}, and its devices are {group}"
                )
        return result

    checked.specialize = functools.partial(specialized, call, who, *promises)  # type: ignore[attr-defined]
    return checked


def agree(who, what, word, values, specs):
    """Refuse values of other types than was promised."""
    have, structure = tree.flatten(values)
    wanted, other = tree.flatten(specs)
    if structure != other:
        raise ValueError(f"colocated_python: the {what} of {who} are {structure}, and {word} says {other}")
    for i, (x, spec) in enumerate(zip(have, wanted, strict=True)):
        if np.shape(x) != tuple(spec.shape) or rb.typeof(x).dtype != spec.dtype:
            raise ValueError(
                f"colocated_python: leaf {i} of the {what} of {who} is {rb.typeof(x).str_short()}, and "
                f"{word} says {rb.typeof(rb.ShapeDtypeStruct(spec.shape, spec.dtype)).str_short()}"
            )
        place = getattr(spec, "sharding", None)
        if place is not None and isinstance(x, Array) and not x.sharding.is_equivalent_to(place, x.ndim):
            raise ValueError(
                f"colocated_python: leaf {i} of the {what} of {who} lies on {x.sharding}, and {word} says "
                f"{place}"
            )


def colocated_python_class(cls):
    """A class whose objects live where their arrays are, which is here: the class itself."""
    return cls
