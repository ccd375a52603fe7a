"""Dates and times as a kind of column: numbers of days inside, dates and times outside."""
