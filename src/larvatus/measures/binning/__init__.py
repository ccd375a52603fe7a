"""Bins of histograms and grids that never reveal a minimum or maximum."""
