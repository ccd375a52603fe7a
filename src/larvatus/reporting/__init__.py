"""Turn a comparison into one HTML page: editions choose sections, sections use figures, the page renders them.

It reads no data and makes no decision.
"""
