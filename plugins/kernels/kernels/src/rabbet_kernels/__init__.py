"""Kernels behind functions of Rabbet, for GPUs and TPUs."""
