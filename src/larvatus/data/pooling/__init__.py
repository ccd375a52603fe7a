"""Pools of sub-groups that are too small: which ones are pooled, and what the pools are called."""
