"""The runtime: the only part of Rabbet that touches jaxlib (the registry of trees in ``rabbet.tree`` aside).

Six rooms, each of which knows those below it only (import-linter keeps it so):

- ``compilation``: from a program to an executable, and what is said when the compiler refuses;
- ``execution``: dispatch, effects, programs in flight, interruption;
- ``arrays``: the class ``Array``, shardings, placements, values from and to the host;
- ``platforms``: backends, clients, devices, topologies, options of the compiler;
- ``caching``: compiled programs on disk and in this process;
- ``jaxlib``: every private call (``jaxlib/adapter.py``), and what jaxlib's threads and signals need.

On top of them: ``evaluation`` (operations on arrays), ``fused`` (library functions as one program),
``transfer``, ``array_parts``, ``compile_for_plugins`` and ``housekeeping``. Importing this package imports
none of them, and starts nothing.
"""

__passes_operations_on__ = True
