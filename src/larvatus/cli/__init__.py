"""The command `larvatus`. Options come from the fields of the methods; the pipeline does the work."""
