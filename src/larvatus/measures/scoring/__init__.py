"""What every score of a measure goes through: domains, lost columns, null distributions, rows by pair.

Comparing releases belongs to comparison.
"""
