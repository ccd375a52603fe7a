"""Estimates with intervals: shares, weighted means, Lorenz curves. Regressions belong to linear."""
