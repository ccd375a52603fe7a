"""Laws of noise and of factors, rounding, and transition matrices. Covariances belong to linear."""
