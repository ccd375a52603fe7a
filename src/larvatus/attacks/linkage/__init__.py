"""What linkage attacks share: the columns the intruder holds, credits by nearness, laws of a release, other releases.

Distances on plain arrays belong to stats.
"""
