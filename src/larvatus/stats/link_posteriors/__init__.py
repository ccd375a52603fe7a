"""Posterior probabilities that a released record belongs to a target, if values were masked by z = xθ + ε (paper 002)."""
