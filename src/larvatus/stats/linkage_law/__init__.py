"""The probability that the best intruder who knows one record and the mask links it, under a normal law."""
