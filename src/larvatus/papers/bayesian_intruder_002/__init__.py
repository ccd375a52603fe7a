"""Trottini, Fienberg, Makov and Meyer: the Bayesian intruder (002)."""
