"""Values that hold data or say what it is: roles, microdata, release, intruder, score, and the contracts."""
