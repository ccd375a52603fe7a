"""Writing files so that nothing is half done, and reading them so that nothing is mixed."""
