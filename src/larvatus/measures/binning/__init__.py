"""Bins of histograms and grids that never show a minimum or maximum."""
