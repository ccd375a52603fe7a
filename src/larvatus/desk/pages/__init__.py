"""The pages of the desk: one file per step, with what it shows and what can be done on it."""
