"""Ranks, windows of ranks, swap partners and joint empirical distribution functions."""
