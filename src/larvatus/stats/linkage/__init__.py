"""Distances and weights by which records are linked: k-d trees, Fellegi–Sunter, Gaussian matching, assignment.

Roles and intruders belong to attacks.
"""
