"""Muralidhar and Sarathy: data shuffling and sufficiency-based masking (000)."""
