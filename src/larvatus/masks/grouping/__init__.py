"""Groups of columns and of records: columns masked together, patterns of missing cells and zeros, means in one pass."""
