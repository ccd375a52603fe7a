"""The values that travel: roles, microdata, release, intruder, score, and the contracts of methods and engines."""
