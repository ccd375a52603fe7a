"""Regressions of X on S and draws from their posterior. Exact-moment masks belong to linear."""
