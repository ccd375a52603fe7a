"""What knows nothing of data: errors, discovery, keyed randomness, kernels, files, progress, array types, number formats."""
