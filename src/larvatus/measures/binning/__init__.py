"""Bins of histograms and grids that never show a minimum or maximum. Drawing them belongs to reporting."""
