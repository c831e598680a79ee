"""Functions of single elements or lines, applied to whole arrays."""
