"""The private modules of jax of which a listed library needs a name; nothing else is here."""
