"""What linear masks share: similarity matrices, rotations, and masking of large sub-groups in chunks."""
