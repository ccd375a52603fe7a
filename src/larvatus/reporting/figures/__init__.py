"""Charts as SVG text made from scores. What is said about them beyond a caption belongs to sections."""
