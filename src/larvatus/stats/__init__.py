"""Arithmetic on plain arrays. Nothing here knows roles, files or engines."""
