"""Hierarchies of categories, and levels of detail of a column."""
