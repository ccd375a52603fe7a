"""Documents that accompany a release: manifests, codebook, file digests, and their verification."""
