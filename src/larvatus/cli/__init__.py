"""The command line: the same walk, with options made from the methods' own fields."""
