"""The normal copula of X given S in each sub-group, and draws from it. Latent correlations on plain arrays belong to stats."""
