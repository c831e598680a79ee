"""What is known of operations: primitives, rule tables, the standard payloads."""
