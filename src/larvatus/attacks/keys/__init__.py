"""Equivalence classes of key variables."""
