"""Analyses chosen by the user: their formulas, their estimates on both files, and corrections for noise."""
