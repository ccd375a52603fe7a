"""Settings that people write in Python: models that report problems in the words of the package."""
