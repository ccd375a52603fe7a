"""The table of the memory engine."""
