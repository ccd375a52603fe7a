"""Errors, discovery, kernels and keyed randomness: what knows nothing of data."""
