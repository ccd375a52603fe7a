"""One file per command of `larvatus`: its options and help. What it prints is in output, its work in the pipeline."""
