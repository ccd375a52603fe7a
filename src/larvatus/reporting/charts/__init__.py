"""A small grammar of charts as SVG text: scales, axes, marks, lanes, and labels that neither overlap nor lose letters."""
