"""Arithmetic of the Bayesian intruder of paper 002: densities, priors, links, chains over matchings.

The mask of that name belongs to masks.
"""
