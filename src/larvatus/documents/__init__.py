"""What is written beside a release: manifest, codebook, file digests, and their verification.

The report belongs to reporting.
"""
