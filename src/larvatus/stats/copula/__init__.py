"""The normal copula: latent correlations behind rank correlations, quantile maps, Iman–Conover. Ranks belong to ranks."""
