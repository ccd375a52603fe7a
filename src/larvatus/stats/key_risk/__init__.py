"""Risk from key variables: individual risk, population uniques, special uniques, k-anonymity and diversity of classes."""
