"""The 25 records on which 001 demonstrates reverse mapping."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

S = [131, 104, 95, 87, 102, 98, 90, 97, 108, 119, 100, 109, 96, 89, 110, 116, 94, 80, 114, 73, 72, 112, 84, 133, 121]
_X = [1110, 1122, 912, 1015, 1096, 1018, 889, 974, 1073, 1177, 963, 1070, 1003, 906, 921, 1144, 934, 908, 979, 819, 780, 1035,
     1032, 1065, 1091]


def reverse_mapping_example() -> pa.Table:
    """Record number, a non-sensitive S and a sensitive X: the published records.

    Examples:
        >>> import larvatus as lv
        >>> lv.datasets.reverse_mapping_example().shape
        (25, 3)
    """
    import pyarrow as pa

    return pa.table({"ID": list(range(1, len(_X) + 1)), "S": S, "X": _X})
