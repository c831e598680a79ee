"""Whether the structure of a checkpoint is that of ``like``, and where it is not."""

from rabbet_store.errors import CheckpointError
from rabbet_store.structure import CONTAINERS, named, places

SHOWN = 8


def fitted(step, saved_nodes, like_nodes, *, partial, loose):
    """For each leaf of ``like``, in order, the number of that leaf in the checkpoint.

    Args:
      partial: what the checkpoint has and ``like`` has not is left out.
      loose: the checkpoint's format does not know of None and of empty containers.

    Raises:
      CheckpointError: where they do not fit; names the paths.
    """
    saved, wanted = places(saved_nodes), places(like_nodes)
    numbers, absent, other = [], [], []
    for way, (_, node, leaf) in wanted.items():
        if way not in saved:
            is_leaf = leaf is not None
            if is_leaf or not loose:
                absent.append(way)
            continue
        _, have, number = saved[way]
        if leaf is not None and number is not None:
            numbers.append(number)
        elif not alike(have, node, partial):
            other.append(f"{named(way)} is {spelled(have)} and {spelled(node)} in `like`")
    if absent:
        has = [named(way) for way, (_, _, leaf) in saved.items() if leaf is not None]
        raise CheckpointError(
            f"the checkpoint of step {step} has no {', '.join(map(named, topmost(absent)[:SHOWN]))}; it has "
            f"{', '.join(has[:SHOWN]) or 'nothing'}"
        )
    if other:
        raise CheckpointError(
            f"the structure of the checkpoint of step {step} is another one than that of `like`: "
            + "; ".join(other[:SHOWN])
        )
    left = [way for way in saved if way not in wanted]
    if left and not partial:
        top = topmost(left)
        said = ", ".join([described(way, saved) for way in top[:SHOWN]])
        more = f" and {len(top) - SHOWN} more" if len(top) > SHOWN else ""
        raise CheckpointError(
            f"the checkpoint of step {step} has what `like` has not: {said}{more}; load(..., partial=True) "
            "leaves it out"
        )
    return numbers


def alike(have, node, partial):
    """Whether the nodes at one place fit."""
    if have[0] in CONTAINERS and node[0] in CONTAINERS:
        if partial or have[0] == "unknown":
            return True
        if have[0] != node[0]:
            return False
        if have[0] in ("namedtuple", "class") and have[1].partition(":")[2] != node[1].partition(":")[2]:
            return False
        return have[0] != "class" or not ("plain" in have[3] and "plain" in node[3]) or have[3] == node[3]
    return have[0] == node[0] or (partial and node[0] == "none")


def spelled(node):
    """A node in words."""
    kind = node[0]
    if kind == "leaf":
        return "an array or number"
    if kind == "none":
        return "None"
    if kind in ("namedtuple", "class"):
        known = node[3].get("plain") if kind == "class" else None
        return f"a {node[1]}" + ("" if known is None else f" with {known!r:.80}")
    return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"


def topmost(ways):
    """Those of which none above is there."""
    found = set(ways)
    return [way for way in ways if way[:-1] not in found or not way]


def described(way, saved):
    """A path, with what is below it."""
    count = sum([leaf is not None for other, (_, _, leaf) in saved.items() if other[: len(way)] == way])
    node = saved[way][1]
    if node[0] == "leaf":
        return named(way)
    return f"{named(way)} ({spelled(node) if not count else f'{count} leaves' if count > 1 else '1 leaf'})"


__all__ = ["fitted"]
