"""The rows of core's primitives, one module per family; ``ROWS`` in each is a list."""
