"""Many releases side by side: the comparison, and what is decided from it."""
