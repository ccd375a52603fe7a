"""Compare releases: scores, limits, and the decision rule (baseline, strongest attack, mean loss, frontier).

Nothing is drawn here.
"""
