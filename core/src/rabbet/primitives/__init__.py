"""The primitives, one module per family; each primitive stands there with all its standard rules beside it."""
