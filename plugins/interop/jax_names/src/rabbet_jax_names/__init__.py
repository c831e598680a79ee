"""Names of JAX that Rabbet's core calls otherwise or has no use for. ``rabbet.tree_util`` and
``rabbet.flatten_util`` lie beside this package.
"""
