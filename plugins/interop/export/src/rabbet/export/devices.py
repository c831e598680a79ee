"""Programs over several devices: how arguments and results lie, as records, in texts and in artifacts.

A record says it by names and sizes of axes, without devices: those are the caller's.
"""

import re
from typing import Any, NamedTuple

import rabbet as rb
from rabbet.export.errors import ExportError
from rabbet.export.flatbuffer_reader import Damaged
from rabbet.export.flatbuffer_writer import Numbers


class Laid(NamedTuple):
    """How an array lies over the axes of a mesh: a ``NamedSharding`` without its devices.

    ``axes`` are triples of name, size and type (1 for Auto, 2 for Explicit, 3 for Manual); ``entries`` are
    those of the ``PartitionSpec``, each a tuple of names.
    """

    axes: tuple
    entries: tuple
    memory: str | None = None
    platform: str = ""


KINDS = ("Auto", "Explicit", "Manual")
MOST_DEVICES = 2**31


def laid(sharding, platform):
    """The record of a sharding, or None: of none, of one that leaves arrays whole on a set of devices without
    a mesh, and of one that says it by other means than a mesh.
    """
    mesh, spec = getattr(sharding, "mesh", None), getattr(sharding, "spec", None)
    if mesh is None or spec is None:
        return None
    kinds = [KINDS.index(kind.name) + 1 for kind in mesh.axis_types]
    axes = tuple(zip(mesh.axis_names, mesh.axis_sizes, kinds, strict=True))
    entries = tuple([names_in(entry) for entry in spec])
    return Laid(axes, entries, sharding.other_memory, platform)


def names_in(entry):
    """The axes that an entry of a ``PartitionSpec`` names, as a tuple."""
    if isinstance(entry, (str, tuple)):
        return (entry,) if isinstance(entry, str) else entry
    return ()


def sharding_on(mesh, record, name):
    """The ``NamedSharding`` on a mesh of a record, or None for None.

    Raises:
      ExportError: for a mesh of other axes.
    """
    if record is None:
        return None
    if mesh is None:
        raise TypeError(f"{name!r} is for several devices: give the mesh, as in in_shardings_jax(mesh)")
    wanted = {axis: size for axis, size, _ in record.axes}
    if dict(mesh.shape) != wanted:
        raise ExportError(
            f"{name!r} was exported for a mesh of {wanted}, and is given one of {dict(mesh.shape)}"
        )
    entries = [(*names, None)[0] if len(names) < 2 else names for names in record.entries]
    spec = rb.sharding.PartitionSpec(*entries)
    return rb.sharding.NamedSharding(mesh, spec, memory_kind=record.memory)


# In texts -----------------------------------------------------------------------------------------

MESH = re.compile(r"sdy\.mesh @(\S+) = <(.*)>(?: \{.*\})?(?: loc\(.*\))?\s*$", re.MULTILINE)
MAIN = re.compile(r"func\.func (?:public )?@main\(")
SHARDING = "#sdy.sharding<"


def layouts_in(text):
    """How the arguments of ``main`` lie and its results, as Shardy writes it: two lists of texts and None."""
    found = MAIN.search(text)
    if found is None or "sdy.sharding" not in text:
        return [], []
    meshes = dict(MESH.findall(text))
    arguments, at = parts_of(text, found.end())
    arrow = text.find("->", at)
    results = []
    if -1 < arrow < text.find("{\n", at):
        start = text.find("(", arrow)
        results, _ = parts_of(text, start + 1)
    return [one_layout(part, meshes) for part in arguments], [one_layout(part, meshes) for part in results]


def parts_of(text, start):
    """The parts between commas up to the bracket that closes, and where that is."""
    parts, depth, begin, i, quoted = [], 0, start, start, False
    while depth >= 0 and i < len(text):
        c = text[i]
        if c == '"':
            quoted = not quoted
        elif not quoted and c in "([{<":
            depth += 1
        elif not quoted and c in ")]}>" and text[i - 1 : i + 1] != "->":
            depth -= 1
        if depth < 0 or (depth == 0 and c == "," and not quoted):
            parts.append(text[begin:i])
            begin = i + 1
        i += 1
    return parts, i


def one_layout(part, meshes):
    """What an argument's text says of its sharding, with the mesh in place; None if nothing."""
    at = part.find(SHARDING)
    if at < 0:
        return None
    (mesh, *rest), _ = parts_of(part, at + len(SHARDING))
    if mesh.startswith("@"):
        mesh = f"mesh<{meshes[mesh[1:]]}>"
    return ",".join([mesh, *rest])


# In artifacts -------------------------------------------------------------------------------------

IN_SHARDING = 2  # the place of a named sharding in the older list
MESH_OF, SPEC, MEMORY = range(3)
SIZES, NAMES, TYPES, DEVICE = range(4)
DEVICE_KIND, _, PLATFORM = range(3)


def fields(record):
    """The table of a record."""
    mesh = {
        SIZES: Numbers("I", tuple([size for _, size, _ in record.axes])),
        NAMES: [name for name, _, _ in record.axes],
        TYPES: bytes([kind for _, _, kind in record.axes]),
        DEVICE: {DEVICE_KIND: record.platform, PLATFORM: record.platform},
    }
    spec = {0: [{0: list(names)} for names in record.entries], 1: [], 2: []}
    return {MESH_OF: mesh, SPEC: spec, MEMORY: record.memory or "device"}


def read_fields(table) -> Any:
    """The record of a table.

    Raises:
      Damaged: for one that no mesh fits.
    """
    mesh, spec = table.table(MESH_OF), table.table(SPEC)
    if mesh is None or spec is None:
        raise Damaged("a sharding in it has no mesh")
    sizes, names, kinds = mesh.numbers(SIZES, "I"), mesh.texts(NAMES), list(mesh.content(TYPES))
    kinds = kinds or [1] * len(sizes)
    if not len(sizes) == len(names) == len(kinds) or len(set(names)) < len(names):
        raise Damaged("a mesh in it is none")
    if not set(kinds) <= {1, 2, 3} or any(not 0 < size < MOST_DEVICES for size in sizes):
        raise Damaged("a mesh in it is none")
    entries = tuple([tuple(entry.texts(0)) for entry in spec.tables(0)])
    used = [name for entry in entries for name in entry]
    if len(set(used)) < len(used) or not set(used) <= set(names):
        raise Damaged("a sharding in it does not fit its mesh")
    memory = table.text(MEMORY) if table.place(MEMORY) is not None else None
    device = mesh.table(DEVICE)
    platform = "" if device is None or device.place(PLATFORM) is None else device.text(PLATFORM)
    return Laid(tuple(zip(names, sizes, kinds)), entries, None if memory == "device" else memory, platform)


def sharding_fields(ins, outs):
    """What the outermost table says of shardings: a dict of the fields ``older_in``, ``older_out``, ``all``,
    ``ins`` and ``outs``.
    """
    found = list(dict.fromkeys([record for record in (*ins, *outs) if record is not None]))
    number = {record: i + 1 for i, record in enumerate(found)} | {None: 0}
    older = lambda records: [{} if r is None else {IN_SHARDING: fields(r)} for r in records]
    return {
        "older_in": older(ins),
        "older_out": older(outs),
        "all": [fields(record) for record in found],
        "ins": Numbers("I", tuple([number[r] for r in ins])),
        "outs": Numbers("I", tuple([number[r] for r in outs])),
    }


def numbered(table, every, numbers, count):
    """The records of arguments or results, each None where nothing is said."""
    if table.place(every) is None or table.place(numbers) is None:
        return (None,) * count
    known = [None, *[read_fields(t) for t in table.tables(every)]]
    given = table.numbers(numbers, "I")
    if len(given) != count or any(i >= len(known) for i in given):
        raise Damaged("a sharding in it is missing")
    return tuple([known[i] for i in given])


__all__ = ["Laid", "laid", "layouts_in", "numbered", "sharding_fields", "sharding_on"]
