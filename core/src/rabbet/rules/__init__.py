"""What is known of operations: primitives, rule tables, the standard payloads."""

__passes_operations_on__ = True
