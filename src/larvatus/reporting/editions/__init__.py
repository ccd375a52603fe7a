"""Which sections the internal and the public report have, in which order. The sections themselves are next door."""
