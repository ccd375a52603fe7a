"""Differential privacy of single mechanisms on plain numbers, and of sequences of them."""
