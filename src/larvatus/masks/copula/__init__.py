"""The normal copula of X given S in each sub-group, and draws from it."""
