"""What every measure's score goes through: domains, lost columns, null distributions, rows by pair of columns."""
