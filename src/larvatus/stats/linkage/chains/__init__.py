"""Chains of values that were exchanged in pairs."""
