"""Bounds on the information of a release about who is who, and on that of several releases together."""
