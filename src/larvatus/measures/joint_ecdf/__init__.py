"""Records of both files as points, and the difference of their joint distribution functions."""
