"""Symbolic shapes: dimensions as expressions, what is known of them, and programs with them."""
