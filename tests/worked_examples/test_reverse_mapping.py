"""The 25 records of Muralidhar, Sarathy and Domingo-Ferrer (001), Tables 1 to 5, typed from the paper."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from larvatus.data.contracts import Mask, Masked
from larvatus.data.verbs import map_rows
from sample import SECRET

ID = list(range(1, 26))
S = [131, 104, 95, 87, 102, 98, 90, 97, 108, 119, 100, 109, 96, 89, 110, 116, 94, 80, 114, 73, 72, 112, 84, 133, 121]
X = [1110, 1122, 912, 1015, 1096, 1018, 889, 974, 1073, 1177, 963, 1070, 1003, 906, 921, 1144, 934, 908, 979, 819, 780, 1035,
     1032, 1065, 1091]

# Table 1
RANK_S = [24, 15, 9, 5, 14, 12, 7, 11, 16, 22, 13, 17, 10, 6, 18, 21, 8, 3, 20, 2, 1, 19, 4, 25, 23]
RANK_X = [22, 23, 6, 13, 21, 14, 3, 10, 19, 25, 9, 18, 12, 4, 7, 24, 8, 5, 11, 2, 1, 16, 15, 17, 20]
Y = [1190.91, 1023.59, 958.10, 1110.99, 1074.13, 971.81, 856.12, 939.37, 1111.88, 1253.93, 970.13, 1102.79, 1107.92, 960.64,
     993.10, 1215.15, 974.77, 881.33, 969.52, 786.79, 817.53, 1068.10, 1069.53, 1053.42, 1027.35]
RANK_Y = [23, 13, 6, 21, 18, 10, 3, 5, 22, 25, 9, 19, 20, 7, 12, 24, 11, 4, 8, 1, 2, 16, 17, 15, 14]
Z = [1122, 1015, 912, 1096, 1070, 974, 889, 908, 1110, 1177, 963, 1073, 1091, 921, 1003, 1144, 979, 906, 934, 780, 819, 1035,
     1065, 1032, 1018]

# Table 2
ADD_Z = [1073, 1096, 934, 921, 1070, 1018, 819, 1015, 1144, 1177, 1032, 1122, 963, 889, 908, 1091, 979, 906, 1035, 912, 780,
         1110, 974, 1065, 1003]
IMP_Z = [1177, 921, 1018, 974, 1091, 889, 934, 908, 1070, 1110, 1096, 1003, 963, 1035, 1015, 1073, 780, 906, 1065, 912, 819,
         979, 1032, 1144, 1122]
MIC_Z = [1122, 1144, 963, 1032, 1177, 1018, 819, 912, 1091, 1096, 974, 1073, 1003, 889, 921, 1110, 934, 780, 979, 906, 908,
         1070, 1015, 1035, 1065]
SWP_Z = [1073, 1096, 974, 1065, 1122, 979, 921, 912, 1110, 1091, 934, 1032, 1035, 819, 889, 1144, 963, 780, 1018, 906, 908,
         1003, 1070, 1015, 1177]
ADD_Y = [1074.11, 1086.02, 953.62, 940.20, 1051.91, 1027.87, 863.64, 1018.39, 1119.18, 1174.44, 1031.09, 1105.33, 976.26,
         875.42, 908.60, 1081.92, 991.27, 886.03, 1031.90, 928.69, 688.71, 1103.82, 982.19, 1045.98, 1017.15]
IMP_Y = [1251.88, 935.33, 1005.54, 970.86, 1033.74, 879.13, 940.48, 886.67, 1025.96, 1071.50, 1035.20, 984.95, 944.64,
         1015.18, 986.23, 1031.50, 789.44, 882.32, 1019.49, 930.28, 826.58, 978.10, 1007.62, 1214.20, 1104.29]
MIC_Y = [1129.80, 1129.80, 940.80, 1009.40, 1129.80, 1009.40, 860.40, 940.80, 1066.80, 1129.80, 940.80, 1066.80, 1009.40,
         860.40, 940.80, 1129.80, 940.80, 860.40, 1009.40, 860.40, 860.40, 1066.80, 1009.40, 1066.80, 1066.80]
RELEASED = {"ADD": ADD_Z, "IMP": IMP_Z, "MIC": MIC_Z, "SWP": SWP_Z}

# Tables 3, 4 and 5
WITH_X = {"ADD": 0.860, "IMP": 0.577, "MIC": 0.952, "SWP": 0.892}
WITH_S = {"X": 0.742, "ADD": 0.738, "IMP": 0.710, "MIC": 0.682, "SWP": 0.568}
MOVED_TO = [0, 1, 2, 3, 4, 5, 10, 15, 20]
MOVED = {
    "ADD": [4, 3, 3, 5, 2, 4, 4, 0, 0], "IMP": [1, 4, 0, 5, 1, 4, 6, 3, 1],
    "MIC": [5, 8, 5, 2, 5, 0, 0, 0, 0], "SWP": [1, 2, 4, 6, 10, 2, 0, 0, 0],
}


class TypedValues(Mask):
    """Release given values, in the order of record ids 1, 2, …"""

    values: tuple[float, ...]

    def apply(self, current, original, random):
        values = np.array(self.values)
        return Masked(map_rows(current, lambda g, b: {"X": values[b.record - 1]}, ["X"]))

    def public_sentence(self) -> str:
        return "Values were typed in."


@pytest.fixture(scope="module")
def data() -> lv.Microdata:
    frame = pd.DataFrame({"ID": ID, "S": S, "X": X})
    return lv.read(frame, confidential="X", non_confidential="S", record_id="ID")


def mapped(data: lv.Microdata, values: list[float], secret: bytes = SECRET) -> lv.Release:
    return lv.mask(data, TypedValues(values=tuple(values)), lv.masks.ReverseMap(), secret=secret)


def ranks(values: list[float]) -> list[int]:
    return stats.rankdata(values).tolist()


def test_table_1(data):
    """The text names four records whose ranks stay (7, 10, 11, 22); the table has six."""
    assert ranks(S) == RANK_S
    assert ranks(X) == RANK_X
    assert ranks(Y) == RANK_Y
    assert mapped(data, Y).frame().X.tolist() == Z
    assert [i for i, a, b in zip(ID, RANK_X, RANK_Y, strict=True) if a == b] == [3, 7, 10, 11, 16, 22]


@pytest.mark.parametrize(("masked", "released"), [(ADD_Y, ADD_Z), (IMP_Y, IMP_Z)], ids=["ADD", "IMP"])
def test_table_2(data, masked, released):
    assert mapped(data, masked).frame().X.tolist() == released


def test_table_2_microaggregation_is_five_groups_of_five_by_rank():
    group = (np.array(RANK_X) - 1) // 5
    mean = pd.Series(X).groupby(group).transform("mean")
    assert mean.round(2).tolist() == MIC_Y
    assert np.var(X, ddof=1) == pytest.approx(10223.51, abs=0.005)
    assert np.var(MIC_Y, ddof=1) == pytest.approx(9246.06, abs=0.005)


def test_table_2_ties_are_broken_inside_the_groups_of_five(data):
    """The paper's own draw is one of (5!)^5; so is ours, and another secret gives another."""
    group = (np.array(RANK_X) - 1) // 5
    ours = [mapped(data, MIC_Y, secret).frame().X for secret in (SECRET, SECRET[::-1])]
    for released in (pd.Series(MIC_Z), *ours):
        assert sorted(released) == sorted(X)
        assert np.array_equal((released.rank() - 1) // 5, group)
    assert ours[0].tolist() != ours[1].tolist()
    lowest = 1 - 6 * 5 * (4**2 + 2**2) * 2 / (25 * (25**2 - 1))
    assert all(lowest <= stats.spearmanr(X, z).statistic < 1 for z in (MIC_Z, *ours))
    assert lowest == pytest.approx(0.923, abs=0.0005)


def test_table_2_swapping_exchanges_within_five_ranks(data):
    assert sorted(SWP_Z) == sorted(X)
    assert max(abs(a - b) for a, b in zip(ranks(X), ranks(SWP_Z), strict=True)) == 5
    assert mapped(data, SWP_Z).frame().X.tolist() == SWP_Z


@pytest.mark.parametrize("method", RELEASED)
def test_tables_3_and_4(data, method):
    release = RELEASED[method]
    assert stats.spearmanr(X, release).statistic == pytest.approx(WITH_X[method], abs=0.0005)
    assert stats.spearmanr(S, release).statistic == pytest.approx(WITH_S[method], abs=0.0005)
    assert stats.spearmanr(S, X).statistic == pytest.approx(WITH_S["X"], abs=0.0005)
    score = lv.risk(data, mapped(data, release), "rank_disclosure")[0]
    assert score.value == pytest.approx(WITH_X[method], abs=0.0005)


@pytest.mark.parametrize("method", RELEASED)
def test_table_4_by_the_measure_of_rank_correlation(data, method):
    pair = lv.utility(data, mapped(data, RELEASED[method]), "rank_correlation")[0].by_pair.rows[0]
    assert (pair["first"], pair["second"]) == ("X", "S")
    assert pair["original"] == pytest.approx(WITH_S["X"], abs=0.0005)
    assert pair["released"] == pytest.approx(WITH_S[method], abs=0.0005)


@pytest.mark.parametrize("method", RELEASED)
def test_table_5(data, method):
    changes = lv.risk(data, mapped(data, RELEASED[method]), "rank_disclosure")[0].details["rank_change"]
    found = dict(zip(changes.column("to"), changes.column("X"), strict=True))
    assert [found.get(to, 0) for to in MOVED_TO] == MOVED[method]
    moved = np.abs(np.array(ranks(X)) - ranks(RELEASED[method]))
    assert np.histogram(moved, [0, 1, 2, 3, 4, 5, 6, 11, 16, 21])[0].tolist() == MOVED[method]
    assert sum(MOVED[method]) == 25
