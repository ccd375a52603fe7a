"""Arithmetic on plain arrays, independent of roles, files and engines."""
