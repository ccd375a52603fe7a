"""Laws of noise and of factors, rounding, and transition matrices."""
