"""Functions of all elements along axes: sums, means, quantiles, running sums, histograms."""
