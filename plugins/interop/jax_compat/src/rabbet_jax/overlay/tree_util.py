"""What ``jax.tree_util`` has beside ``rabbet.tree_util``'s names."""

import rabbet as rb


class _DefaultRegistry:
    """The classes that are nodes of trees, as jaxlib's object of that name tells of them."""

    def flatten(self, tree, leaf_predicate=None):
        return rb.tree_util.tree_flatten(tree, leaf_predicate)

    def flatten_one_level(self, tree):
        """The children and the rest of a node; None for a leaf."""
        return None if rb.tree_util.all_leaves([tree]) else rb.tree_util.flatten_one_level(tree)


default_registry = _DefaultRegistry()
__all__ = ["default_registry"]
