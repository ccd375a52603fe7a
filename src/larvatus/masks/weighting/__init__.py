"""Masks of the survey weight: its units, and what a change of it means."""
