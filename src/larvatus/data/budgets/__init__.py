"""What releases give away together, as values: the information of one release, and the total of several."""
