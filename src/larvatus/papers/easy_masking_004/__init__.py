"""Winkler: masks that are easy to apply, and re-identification (004)."""
