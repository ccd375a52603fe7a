"""The values that travel: roles, microdata, release, intruder, score, and the contracts of methods and engines.

How a step is applied belongs to the pipeline; what methods of one kind share belongs to their room.
"""
