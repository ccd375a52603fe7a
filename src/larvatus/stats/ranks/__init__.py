"""Ranks, windows of ranks, swap partners, joint empirical distribution functions. Copulas belong to copula."""
