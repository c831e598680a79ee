"""The same elements in other shapes, put together, moved, padded."""
