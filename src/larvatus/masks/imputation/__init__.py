"""Regressions of X on S and draws from their posterior."""
