"""Muralidhar, Sarathy and Domingo-Ferrer: reverse mapping (001), and a study of its open questions."""
