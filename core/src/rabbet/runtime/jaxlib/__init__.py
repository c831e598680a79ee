"""jaxlib: every call to it, every difference between its versions, and what its threads and signals need."""
