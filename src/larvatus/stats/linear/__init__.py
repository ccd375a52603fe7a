"""Moments, regressions, covariance factors and exact-moment masking of one sub-group. Classification belongs to models."""
