"""``jax._src.tree_util``, of which flax reads the registry."""

import rabbet as rb


class _Registry:
    """Which classes are nodes of trees."""

    def __contains__(self, cls):
        return cls in (tuple, list, dict, type(None)) or rb.tree_util.is_tree_node(cls)


_registry = _Registry()


def __getattr__(name):
    return getattr(rb.tree_util, name)
