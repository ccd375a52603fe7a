"""Shared by masks that add noise: covariance factors, redrawing until positive, notes."""
