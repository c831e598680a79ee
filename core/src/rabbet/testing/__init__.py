"""The conformance kit: laws that primitives and transformations obey, and what is needed to check them.

``rows`` holds one row per primitive of core (``table.Row``: the primitive, what NumPy says it computes,
inputs to try it on). ``laws`` says what must hold of a row; ``checks`` evaluates laws and compares. A
plugin that brings primitives writes rows for them; one that brings a transformation runs the rows of core
through it.

The laws are written against a ``System``: four functions ``jvp, vjp, vmap, jit``. ``driver.CORE`` is one
that needs no plugin, ``driver.plugins()`` the one that users see.
"""
