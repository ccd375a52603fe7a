"""What masks that add noise share: covariance factors, redrawing until positive, notes.

Laws of noise on plain arrays belong to stats.
"""
