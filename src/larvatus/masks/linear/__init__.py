"""What linear masks share: similarity matrices, rotations, and large sub-groups in chunks. Plain noise belongs to noise."""
