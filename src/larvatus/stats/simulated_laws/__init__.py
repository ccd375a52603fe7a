"""How a mask moves values, learnt from releases that were made again with other secrets."""
