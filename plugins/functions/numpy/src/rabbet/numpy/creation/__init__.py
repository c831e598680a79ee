"""New arrays: filled, converted, of a pattern, from files."""
