"""Models trained on one file and tested on another."""
