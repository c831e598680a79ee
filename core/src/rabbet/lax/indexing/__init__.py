"""Indexing: what a subscript means, how it is read, and ``x.at[...]``."""
