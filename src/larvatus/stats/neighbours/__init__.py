"""Searches for near points: k-d trees in few columns, blocked matrix products in many, and the choice between them.

Records, pools and credits belong to linkage.
"""
