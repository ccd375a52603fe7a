"""Links of the Bayesian intruder and the pools of candidates they are made in. Its densities belong to stats."""
