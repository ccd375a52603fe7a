"""Groups of records: MDAV, k-groups, average linkage, BIRCH, local suppression. Declared sub-groups belong to data."""
