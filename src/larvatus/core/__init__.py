"""Errors, discovery, keyed randomness, kernels, files, progress, array types, number formats: nothing here knows data."""
