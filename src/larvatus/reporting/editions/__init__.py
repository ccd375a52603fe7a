"""The sections of the internal and the public report, and their order."""
