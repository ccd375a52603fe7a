"""Pairing files, which tell which released row belongs to which original record, and the release they belong to."""
