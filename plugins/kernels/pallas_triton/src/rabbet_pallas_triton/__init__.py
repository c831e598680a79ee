"""Kernels of ``rabbet.experimental.pallas`` as Triton IR, text that XLA's compiler for NVIDIA GPUs takes."""
