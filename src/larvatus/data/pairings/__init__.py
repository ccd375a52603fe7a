"""Pairing files, which tell which released row belongs to which original record; and waves, which are paired by person."""
