"""The generator against known answers, against NumPy's own, and against the laws its draws must follow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from larvatus.core import philox
from larvatus.core.randomness import RecordRandom, secret_or_new, stream_key

FALSE_ALARM = 1e-6
ONES = 0xFFFFFFFFFFFFFFFF
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B)),
    ((ONES, ONES, ONES, ONES), (ONES, ONES), (0x87B092C3013FE90B, 0x438C3C67BE8D0224, 0x9CC7D7C69CD777B6, 0xA09CAEBF594F0BA0)),
    (
        (0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89),
        (0x452821E638D01377, 0xBE5466CF34E90C6C),
        (0xA528F45403E61D95, 0x38C72DBD566E9788, 0xA5A1610E72FD18B5, 0x57BD43B5E52B7FE6),
    ),
]


@pytest.mark.parametrize(("counter", "key", "words"), KNOWN)
def test_known_answers(counter, key, words):
    assert philox.philox(*(np.uint64(v) for v in (*counter, *key))) == words


def test_agrees_with_numpys_generator():
    key = np.array([123, 456], dtype=np.uint64)
    out = np.empty((4, 3), dtype=np.uint64)
    philox.fill_words(out, np.array([1, 2, 3]), 7, 9, *key)
    for i, record in enumerate((1, 2, 3)):
        numpys = np.random.Philox(counter=np.array([record - 1, 0, 7, 9], dtype=np.uint64), key=key)
        assert (numpys.random_raw(4) == out[:, i]).all()


N = 400_000
RECORDS = np.arange(N, dtype=np.int64)


@pytest.fixture(scope="module")
def draws():
    return RecordRandom(stream_key(b"a stated secret for this test", "draws")).normal(RECORDS, 5)


def test_normal_draws_follow_the_normal_law(draws):
    assert min(stats.kstest(lane, "norm").pvalue for lane in draws) > FALSE_ALARM / 5


@pytest.mark.parametrize("beyond", [1.0, 2.5, 3.5, 3.7, 4.0, 4.5])
def test_normal_tails_have_their_share(draws, beyond):
    expected = 2 * stats.norm.sf(beyond)
    found = int((np.abs(draws) > beyond).sum())
    assert stats.binomtest(found, draws.size, expected).pvalue > FALSE_ALARM


def test_lanes_and_neighbouring_records_are_uncorrelated(draws):
    limit = stats.norm.isf(FALSE_ALARM / 60) / np.sqrt(N)
    between = np.corrcoef(draws)[np.triu_indices(5, 1)]
    lagged = [np.corrcoef(lane[:-1], lane[1:])[0, 1] for lane in draws]
    squares = [np.corrcoef(lane[:-1] ** 2, lane[1:] ** 2)[0, 1] for lane in draws]
    assert np.abs([*between, *lagged, *squares]).max() < limit


def test_uniform_draws_are_uniform_and_inside():
    u = RecordRandom(stream_key(b"a stated secret for this test", "uniform")).uniform(RECORDS, 3)
    assert 0 < u.min() < u.max() < 1
    assert min(stats.kstest(lane, "uniform").pvalue for lane in u) > FALSE_ALARM / 3


def test_a_draw_depends_on_its_name_alone():
    random = RecordRandom(stream_key(b"a stated secret for this test", "names"))
    whole = random.normal(RECORDS[:1000], 6)
    part = np.random.default_rng(0).permutation(1000)[:300]
    assert np.array_equal(random.normal(part, 6), whole[:, part])
    assert np.array_equal(random.normal(RECORDS[:1000], 2), whole[:2])


def test_other_purposes_attempts_keys_and_lanes_share_no_draw():
    random = RecordRandom(stream_key(b"a stated secret for this test", "apart"))
    some = RECORDS[:2000]
    seen = [
        random.normal(some, 4), random.normal(some, 4, purpose="other"), random.normal(some, 4, attempt=1),
        random.child("step").normal(some, 4), RecordRandom(stream_key(b"another secret, as long", "apart")).normal(some, 4),
    ]
    assert len(np.unique(np.concatenate(seen))) == 5 * 4 * 2000
    words = [random.words(some, 2, purpose=p, attempt=a) for p in ("ties x", "ties y") for a in (0, 1)]
    uniform = [random.uniform(some, 2, purpose=p, attempt=a) for p in ("ties x", "ties y") for a in (0, 1)]
    assert len(np.unique(np.concatenate(words))) == len(np.unique(np.concatenate(uniform))) == 4 * 2 * 2000


def test_stream_keys_keep_words_apart_and_the_secret_hidden():
    assert stream_key(b"s" * 16, "ab", "c") != stream_key(b"s" * 16, "a", "bc")
    assert stream_key(b"s" * 16, "a") != stream_key(b"t" * 16, "a")
    assert len(stream_key(b"s" * 16)) == 16
    random = RecordRandom(stream_key(b"s" * 16))
    assert random.key.hex() not in repr(random)
    assert str(random.key) not in repr(random)


def test_secrets_are_checked():
    assert secret_or_new(None) != secret_or_new(None)
    assert secret_or_new(b"x" * 16) == b"x" * 16
    for bad in (b"short", "text instead of bytes", 12345678901234567890):
        with pytest.raises(Exception, match="secret"):
            secret_or_new(bad)
