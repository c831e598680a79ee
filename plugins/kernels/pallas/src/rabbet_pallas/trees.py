"""Trees of specs beside trees of arrays."""

from rabbet import tree

from rabbet_pallas.block_specs import BlockSpec, NoBlockSpec


def children(node):
    """The children of a tree's root with their names, and the root's structure."""
    if isinstance(node, dict):
        return [(f"[{k!r}]", node[k]) for k in sorted(node)], dict
    if isinstance(node, (list, tuple)) and not hasattr(node, "_fields"):
        return [(f"[{i}]", x) for i, x in enumerate(node)], tuple
    found, structure = tree.flatten(node, is_leaf=lambda x: x is not node)
    return [(f".{i}", x) for i, x in enumerate(found)], structure


def spread(specs, arrays, path):
    """A spec for each leaf of ``arrays``; ``specs`` is a tree, or a prefix of that tree.

    Args:
      path: what the trees are called in messages.
    """
    if isinstance(specs, (BlockSpec, NoBlockSpec)):
        spec = specs if isinstance(specs, BlockSpec) else BlockSpec()
        return [spec] * len(tree.leaves(arrays))
    if arrays is None:
        return []
    if specs is None or tree.structure(specs) == tree.structure(0):
        raise ValueError(f"{path} is {specs!r:.60}\n  to fix: a BlockSpec; BlockSpec() for the whole array")
    (inner, root), (values, wanted) = children(specs), children(arrays)
    if root != wanted or len(inner) != len(values):
        raise ValueError(
            f"{path} has {len(inner)} entries of a {describe(specs)} where there are {len(values)} of a "
            f"{describe(arrays)}\n  to fix: one BlockSpec for each array, in a tree of the same structure, "
            "or one for a whole subtree"
        )
    return [
        s for (name, spec), (_, x) in zip(inner, values, strict=True) for s in spread(spec, x, path + name)
    ]


def describe(node):
    return "BlockSpec" if isinstance(node, BlockSpec) else type(node).__name__


__all__ = ["spread"]
