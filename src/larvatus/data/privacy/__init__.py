"""Differential privacy as values: what a step states, and what a release states."""
