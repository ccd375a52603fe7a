"""Certificates: upper bounds on the success of any intruder of a stated kind. No attack is run."""
