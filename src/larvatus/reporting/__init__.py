"""The report: sections as values, composed from scores, drawn as SVG text, written as one HTML file."""
