"""What counts, for `rabbet.metrics`."""
