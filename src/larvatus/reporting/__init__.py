"""From a comparison to one HTML page: editions choose sections, sections use figures, the page renders them.

No data, no decision rule.
"""
