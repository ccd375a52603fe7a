"""Shared by linear masks: similarity matrices, rotations, and masking of large sub-groups in chunks."""
