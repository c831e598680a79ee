"""What the conformance kit tries of these primitives."""
