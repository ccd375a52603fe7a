"""Releases side by side: scores, limits, and the decision rule (baseline, strongest attack, mean loss, frontier).

No drawing.
"""
