"""Build a risk score and its baselines from the credits of single records."""
