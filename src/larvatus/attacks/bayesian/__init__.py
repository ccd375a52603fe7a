"""Links of the Bayesian intruder, and the pools of candidates in which they are made."""
