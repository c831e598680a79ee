"""Arrays: what they hold, where they lie, how values get in and out, and what is said when memory ends."""
