"""How ``rabbet.experimental.pallas`` works: kernels are programs on the states of references.

A kernel is a function of references, which are cells. Traced by itself it becomes a program without
references: ``load`` and ``store`` are operations on states that go from one to the next. One primitive,
``pallas_call``, holds that program in an object (``calls.Call``) and decomposes into a loop over the grid.
"""
