"""Shared by all measures: domains, columns that are not released, null distributions, rows by pair of columns."""
