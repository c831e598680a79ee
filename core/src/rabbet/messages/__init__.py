"""Who, where, and what next: source positions, tracebacks, names of arguments."""
