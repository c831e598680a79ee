"""Kernels of ``rabbet.experimental.pallas`` as Mosaic, text that libtpu takes."""
