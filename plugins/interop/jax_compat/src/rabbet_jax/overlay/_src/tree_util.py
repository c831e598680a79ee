"""``jax._src.tree_util``, of which flax and jaxlie read the registry, and flax's tests ``prefix_errors``."""

import rabbet as rb


class _Entry:
    """How nodes of a class come apart and together; what JAX calls their metadata is a structure here."""

    @staticmethod
    def to_iter(tree):
        """The children of a node, and what ``from_iter`` makes it of besides."""
        return rb.tree_util.tree_flatten(tree, is_leaf=lambda x: x is not tree)

    @staticmethod
    def from_iter(structure, children):
        """A node of these children."""
        return rb.tree_util.tree_unflatten(structure, children)


class _Registry:
    """Which classes are nodes of trees, and how they come apart."""

    def __getitem__(self, cls):
        if cls not in self:
            raise KeyError(cls)
        return _Entry

    def __contains__(self, cls):
        return cls in (tuple, list, dict, type(None)) or rb.tree_util.is_tree_node(cls)


_registry = _Registry()


def prefix_errors(prefix_tree, full_tree, is_leaf=None):
    """For each place where one tree stops being a prefix of the other a function ``(name) -> ValueError``, to
    which the caller tells what the first is called.
    """
    return list(_differences(prefix_tree, full_tree, is_leaf, ()))


def _differences(prefix, full, is_leaf, path):
    if (is_leaf is not None and is_leaf(prefix)) or rb.tree_util.all_leaves([prefix]):
        return
    (ours, mine), there = rb.tree_util.flatten_one_level_with_keys(prefix), type(full)
    if there is not type(prefix):
        yield _said(
            path, f"is a {type(prefix).__name__}, where the other tree has another type, {there.__name__}"
        )
        return
    theirs, other = rb.tree_util.flatten_one_level_with_keys(full)
    if len(ours) != len(theirs):
        yield _said(
            path, f"is a {there.__name__} of length {len(ours)}, and that of the other tree has {len(theirs)}"
        )
    elif mine != other:
        yield _said(path, f"is a {there.__name__} with {mine}, and that of the other tree has {other}")
    else:
        for (key, a), (_, b) in zip(ours, theirs, strict=True):
            yield from _differences(a, b, is_leaf, (*path, key))


def _said(path, what):
    return lambda name: ValueError(f"{name}{rb.tree_util.keystr(path)} {what}")


def __getattr__(name):
    return getattr(rb.tree_util, name)
