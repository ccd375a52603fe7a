"""The Bayesian intruder of paper 002: densities, priors, links and chains over matchings."""
