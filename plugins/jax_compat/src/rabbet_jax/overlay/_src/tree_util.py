"""``jax._src.tree_util``, of which flax reads the registry."""

from rabbet.tree_util import *  # noqa: F403
from rabbet.tree_util import is_tree_node


class _Registry:
    """Which classes are nodes of trees."""

    def __contains__(self, cls):
        return cls in (tuple, list, dict, type(None)) or is_tree_node(cls)


_registry = _Registry()
