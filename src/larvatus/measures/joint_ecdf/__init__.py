"""Records of both files as points, and the differences of their joint distribution functions.

Single columns belong to the measures.
"""
