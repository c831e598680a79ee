"""Rows of the primitives of linear algebra, for `rabbet.testing`: loaded for tests alone."""
