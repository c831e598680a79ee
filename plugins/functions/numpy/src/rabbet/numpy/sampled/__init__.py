"""Sampled signals and polynomials: interpolation, convolution, windows, coefficients."""
