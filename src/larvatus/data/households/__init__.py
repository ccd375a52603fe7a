"""Households and persons: which records belong together, and steps that keep households consistent."""
