"""Columns masked together, patterns of missing cells and zeros, group means in one pass.

Forming groups of records belongs to stats.
"""
