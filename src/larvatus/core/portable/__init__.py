"""Functions with the same bits on every machine: logarithm, exponential, trigonometric and normal functions."""
