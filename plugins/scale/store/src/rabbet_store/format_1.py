"""Checkpoints of format 1, which have no structure but the paths of their leaves, and no checksums of chunks
in the manifest. None and empty containers are not in them.
"""

from rabbet_store import scalars


def brought_up(body):
    """The manifest of such a checkpoint in the words of the present format."""
    rows, ways = [], []
    for row in body["leaves"]:
        kept = {key: row[key] for key in ("name", "folder", "shape", "dtype", "chunk") if key in row}
        if "value" in row:
            kept["value"] = scalars.encoded(row["value"])
        else:
            kept["as"] = "numpy" if row["numpy"] else "array"
        rows.append(kept)
        ways.append([(kind, as_key(key)) for kind, key in row["way"]])
    nodes, order = nodes_of(ways)
    return {**body, "leaves": [rows[i] for i in order], "tree": nodes}


def as_key(written):
    """The key of a step: tuples were dicts, other keys as JSON has them."""
    if isinstance(written, dict):
        return {"tuple": [as_key(each) for each in written["tuple"]]}
    return scalars.encoded(written)


def nodes_of(ways):
    """``(nodes, order)``: nodes of the kinds list and dict for the paths of leaves, and which leaf is
    where.
    """
    nodes, order = [], []
    stack = [[(way, i) for i, way in enumerate(ways)]]
    while stack:
        here = stack.pop()
        if len(here) == 1 and not here[0][0]:
            nodes.append(["leaf"])
            order.append(here[0][1])
            continue
        below = {}
        for way, i in here:
            kind, key = way[0]
            below.setdefault((kind, repr(key)), (way[0], []))[1].append((way[1:], i))
        listed = all(kind == "item" for kind, _ in below)
        found = list(below.values())
        if listed:
            found.sort(key=lambda each: each[0][1])
        nodes.append(["unknown", "list" if listed else "dict", [list(step) for step, _ in found]])
        stack.extend([inside for _, inside in reversed(found)])
    return nodes, order


__all__ = ["brought_up"]
