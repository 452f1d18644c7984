"""The profile agrees with a direct computation, however the data come."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from stickbreak.data import base, open_source, profile, scan
from stickbreak.errors import DataError, InputError


class Blocks:
    def __init__(self, *blocks):
        self.blocks = blocks

    def __iter__(self):
        return iter(self.blocks)


def first(mask):
    at = np.argwhere(mask)
    return None if len(at) == 0 else tuple(at[0].tolist())


def check(found, X, counts):
    """Compare a profile with exact sums over rows that are repeated."""
    repeated = np.repeat(X, counts, axis=0)
    counted = np.where(np.asarray(counts)[:, None] > 0, X, 1.0)
    assert found.weight == sum(counts)
    assert found.missing_at == first(np.isnan(counted))
    assert found.negative_at == first(counted < 0)
    assert found.fractional_at == first(~np.isnan(counted) & (counted != np.rint(counted)))
    totals = [math.fsum(row[~np.isnan(row)]) for row in repeated]
    assert found.row_total == pytest.approx(math.fsum(totals) / len(totals), rel=1e-12, abs=1e-9)
    for j, column in enumerate(repeated.T):
        cells = column[~np.isnan(column)]
        assert found.present[j] == len(cells)
        assert found.whole[j] == (cells == np.rint(cells)).all()
        if len(cells) == 0:
            assert np.isnan([found.mean[j], found.variance[j], found.mean_square[j], found.low[j], found.high[j]]).all()
            continue
        mean = math.fsum(cells) / len(cells)
        assert found.mean[j] == pytest.approx(mean, rel=1e-13, abs=1e-10)
        assert found.variance[j] == pytest.approx(math.fsum((cells - mean) ** 2) / len(cells), rel=1e-11, abs=1e-18)
        assert found.mean_square[j] == pytest.approx(math.fsum(cells**2) / len(cells), rel=1e-11, abs=1e-18)
        assert (found.low[j], found.high[j]) == (cells.min(), cells.max())


CELLS = st.one_of(st.integers(-3, 5).map(float), st.floats(-1e3, 1e3), st.just(np.nan))


@st.composite
def weighted(draw, cells=CELLS):
    n, d = draw(st.integers(1, 30)), draw(st.integers(1, 4))
    X = draw(arrays(np.float64, (n, d), elements=cells))
    counts = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(any))
    return X, counts


@settings(max_examples=150, deadline=None)
@given(weighted(), st.integers(1, 200))
def test_dense_profile_is_that_of_repeated_rows(case, cells):
    X, counts = case
    whole = scan._CELLS
    scan._CELLS = cells
    try:
        found = profile(open_source(X), np.array(counts, dtype=float))
        if min(counts) > 0:
            blocks = profile(open_source(Blocks(X[:1], X[1:])), np.array(counts, dtype=float))
            check(blocks, X, counts)
    finally:
        scan._CELLS = whole
    check(found, X, counts)


@settings(max_examples=100, deadline=None)
@given(weighted(st.one_of(st.just(0.0), st.just(0.0), CELLS)), st.integers(1, 50))
def test_sparse_profile_is_that_of_repeated_rows(case, cells):
    X, counts = case
    whole = scan._CELLS
    scan._CELLS = cells
    try:
        found = profile(open_source(sparse.csr_array(X)), np.array(counts, dtype=float))
    finally:
        scan._CELLS = whole
    assert found.sparse
    check(found, X, counts)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1000, 300_000])
def test_weight_two_is_twice_the_row(dtype, n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)).astype(dtype)
    counts = rng.integers(0, 3, size=n)
    one = profile(open_source(X), counts.astype(float))
    two = profile(open_source(np.repeat(X, counts, axis=0)))
    for field in ("mean", "variance", "mean_square", "present", "row_total"):
        assert np.allclose(getattr(one, field), getattr(two, field), rtol=2e-14, atol=2e-15)
    assert one.dtype_is_float32 == (dtype == np.float32)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
@pytest.mark.parametrize("in_order", [False, True])
def test_data_far_from_the_origin_keep_their_digits(offset, in_order, monkeypatch):
    monkeypatch.setattr(base, "PIECE_BYTES", 1 << 20)
    X = np.random.default_rng(1).normal(size=(200_000, 2)) + offset
    X[0] += 1000.0
    X = np.sort(X, axis=0) if in_order else X
    found = profile(open_source(X))
    exact = X - offset  # exact, by Sterbenz's lemma, where there is an offset
    mean = np.array([math.fsum(column) for column in exact.T]) / len(X)
    assert np.allclose(
        found.variance, [math.fsum((c - m) ** 2) / len(X) for c, m in zip(exact.T, mean, strict=True)], rtol=1e-12
    )
    assert np.allclose(found.mean, mean + offset, rtol=3e-16, atol=1e-15)


def test_cells_are_first_by_row_then_column():
    X = np.ones((300, 3))
    X[250, 0] = X[70, 2] = np.nan
    X[100, 1] = X[100, 2] = -1.0
    X[299, 0] = X[200, 1] = 0.5
    found = profile(open_source(X))
    assert (found.missing_at, found.negative_at, found.fractional_at) == ((70, 2), (100, 1), (200, 1))
    assert found.whole.tolist() == [False, False, True]
    weight = np.ones(300)
    weight[[70, 100, 200]] = 0.0
    found = profile(open_source(X), weight)
    assert (found.missing_at, found.negative_at, found.fractional_at) == ((250, 0), None, (299, 0))


def test_infinity_is_refused_with_its_place():
    X = np.ones((5, 2))
    X[3, 1] = -np.inf
    with pytest.raises(DataError, match="infinity in row 3, column 1;") as caught:
        profile(open_source(X))
    assert (caught.value.row, caught.value.column) == (3, 1)
    with pytest.raises(DataError, match=r"row 3, column 1 \('b'\)"):
        profile(open_source(pd.DataFrame(X, columns=["a", "b"])), np.array([1.0, 1, 1, 0, 1]))
    with pytest.raises(DataError, match="infinity in row 3, column 1;"):
        profile(open_source(sparse.csr_array(X)))
    X[0, 0], X[3, 0] = np.nan, np.inf
    with pytest.raises(DataError, match="infinity in row 3, column 0;"):
        profile(open_source(X))
    for huge in (1e200, 1e308):
        with pytest.raises(DataError, match="column 1 are too large"):
            profile(open_source(np.array([[1.0, huge], [1.0, -huge]])))


@pytest.mark.parametrize(
    ("weight", "words"),
    [
        (np.ones(4), "has 4 weights, and the data have 5 rows"),
        (np.ones(6), "has 6 weights, and the data have 5 rows"),
        (np.ones((5, 1)), "1-D"),
        (np.array([1.0, -1.0, 1.0, 1.0, 1.0]), r"sample_weight\[1\] is -1.0"),
        (np.array([1.0, 1.0, np.nan, 1.0, 1.0]), r"sample_weight\[2\] is nan"),
        (np.zeros(5), "0 for all rows"),
    ],
)
def test_weights_are_checked(weight, words):
    X = np.ones((5, 2))
    for data in (X, Blocks(X[:2], X[2:])):
        with pytest.raises(InputError, match=words):
            profile(open_source(data), weight)


def test_labels():
    found = profile(open_source(pd.DataFrame({"age": [1.0], "size": [2.0]})))
    assert found.label(1) == "column 1 ('size')"
    assert profile(open_source(np.ones((1, 2)))).label(1) == "column 1"
