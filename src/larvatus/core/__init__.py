"""Code that does not depend on data: errors, discovery, randomness, kernels, files, progress, arrays, number formats."""
