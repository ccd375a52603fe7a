"""Labels of labelled files: what columns and codes mean, and the roles that follow from it."""
