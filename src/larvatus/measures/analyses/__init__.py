"""Analyses that the user names: formulas, estimates on both files, corrections for noise.

Functions for users of a release belong to analysis.
"""
