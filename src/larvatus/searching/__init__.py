"""The search for the release with the least loss under limits: space, goal, optimiser, result.

The pipeline makes and scores the candidates.
"""
