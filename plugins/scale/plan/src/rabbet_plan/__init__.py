"""What programs take of hardware that need not be here; ``rabbet.planning`` has the names."""
