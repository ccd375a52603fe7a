"""The command `larvatus`: options made from the methods' own fields. The work is done by the pipeline."""
