"""What masks that add noise share: covariance factors, redrawing until positive, notes."""
