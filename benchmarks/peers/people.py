"""The columns of the file that every tool works on."""

CONFIDENTIAL = ["income", "wealth", "spending"]
NON_CONFIDENTIAL = ["age", "education"]
SUB_GROUPS = ["region", "sex"]
KEYS = [*SUB_GROUPS, *NON_CONFIDENTIAL]
TARGETS = 2_000
PREDICATES = 500  # anonymeter's default; a small file does not have many more that single out a record
