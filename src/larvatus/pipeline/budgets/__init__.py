"""Budgets of releases: what manifests record for them, and what the manifests of a source add up to."""
