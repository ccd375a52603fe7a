"""Arithmetic on plain arrays; knows nothing of roles, files or engines."""
