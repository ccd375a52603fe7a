"""The search for the release with the least loss under limits: space, goal, optimiser, result.

Candidates run in the pipeline.
"""
