"""Shared by attacks on values: labels read as numbers, and cells of records that share a value."""
