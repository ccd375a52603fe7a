"""Groups of columns and of records: columns masked together, patterns of missing values and zeros, group means in two passes."""
