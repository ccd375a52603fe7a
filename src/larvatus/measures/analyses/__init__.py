"""Analyses that the user names: their formulas, estimates on both files, and corrections for noise."""
