"""The compiled loops against plain ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from scipy.special import logsumexp

from stickbreak.core import kernels
from stickbreak.core.kernels import Responsibilities, collect_dense, sparse_softmax
from stickbreak.core.workspace import Workspace
from textbook import softmax as plain

SHAPES = st.tuples(st.integers(1, 6), st.integers(1, 7))
WEIGHTS = st.sampled_from([0.0, 0.25, 1.0, 3.0])


@st.composite
def scored(draw):
    n, n_clusters = draw(SHAPES)
    # Few distinct values make ties; large ones make clusters that count for nothing.
    value = st.sampled_from([-1e9, -100.0, -41.0, -39.5, -3.0, -0.25, 0.0, 0.0, 1.0, 7e5])
    scores = draw(hnp.arrays(float, (n, n_clusters), elements=value))
    weight = draw(hnp.arrays(float, n, elements=WEIGHTS))
    return scores, weight, draw(st.integers(1, n_clusters + 1))


@settings(max_examples=150)
@given(scored())
def test_softmax_is_the_plain_one(case):
    scores, weight, limit = case
    entropy = np.full(scores.shape[1], 0.5)
    found = sparse_softmax(scores.copy(), weight, limit, entropy, Workspace())
    resp, expected_entropy = plain.softmax(scores, weight, limit)
    np.testing.assert_allclose(found.toarray(scores.shape[1]), resp, rtol=1e-12, atol=1e-300)
    # Logarithms are differences of scores, and as exact as these.
    np.testing.assert_allclose(entropy - 0.5, expected_entropy, atol=1e-12 + 1e-14 * np.abs(scores).max())
    assert np.all(np.diff(found.start) <= limit)
    assert np.all(np.diff(found.start)[weight == 0] == 0)
    np.testing.assert_allclose(found.row_sums(), weight, rtol=1e-12)
    for a, b in zip(found.start[:-1], found.start[1:], strict=True):
        assert np.all(np.diff(found.cluster[a:b]) > 0)


def test_softmax_without_a_limit_adds_up_to_the_full_one():
    """What is left out changes the sum that normalises a row by less than a double can tell."""
    scores = np.random.default_rng(0).normal(0, 30, (200, 9))
    found = sparse_softmax(scores, np.ones(200), 9, np.zeros(9), Workspace()).toarray(9)
    np.testing.assert_allclose(found, np.exp(scores - logsumexp(scores, axis=1)[:, None]), rtol=1e-12, atol=1e-17)


@pytest.mark.parametrize(
    ("scores", "kept"),
    [
        ([0, 0, 1], [0, 2]),
        ([0, 0, 0], [0, 1]),
        ([0, 1, 0, 1], [1, 3]),
        ([2, 0, 0, 1, 2], [0, 4]),
        ([1, 0, 1, 2], [0, 3]),
    ],
)
def test_among_equals_the_earlier_cluster_stays(scores, kept):
    found = sparse_softmax(np.array([scores], dtype=float), np.ones(1), 2, np.zeros(len(scores)), Workspace())
    assert found.cluster.tolist() == kept


def test_scores_of_minus_infinity_have_no_part():
    scores = np.array([[-np.inf, 1.0, -np.inf], [0.0, -np.inf, 0.0]])
    entropy = np.zeros(3)
    found = sparse_softmax(scores, np.ones(2), 3, entropy, Workspace()).toarray(3)
    np.testing.assert_allclose(found, [[0, 1, 0], [0.5, 0, 0.5]])
    np.testing.assert_allclose(entropy, [np.log(2) / 2, 0, np.log(2) / 2])


@given(scored())
def test_responsibilities_survive_compression(case):
    scores, weight, limit = case
    resp, _ = plain.softmax(scores, weight, limit)
    packed = Responsibilities.from_dense(resp)
    np.testing.assert_array_equal(packed.toarray(resp.shape[1]), resp)
    low, high = len(resp) // 3, len(resp)
    np.testing.assert_array_equal(packed.between(low, high).toarray(resp.shape[1]), resp[low:high])
    np.testing.assert_allclose(packed.row_sums(), resp.sum(axis=1))


@pytest.mark.parametrize("limit", [1, 2, 12])
def test_collected_sums_are_the_plain_ones(limit):
    """A limit of 1 goes row by row, one of 12 by a matrix product."""
    rng = np.random.default_rng(0)
    stats, scores, weight = rng.normal(size=(50, 5)), rng.normal(0, 1, (50, 12)), rng.integers(0, 3, 50).astype(float)
    found, out = sparse_softmax(scores, weight, limit, np.zeros(12), Workspace()), np.ones((12, 5))
    assert (5 * len(found.value) > 50 * 12) == (limit == 12)
    collect_dense(stats, found, out)
    np.testing.assert_allclose(out - 1, plain.summarize(stats, plain.softmax(scores, weight, limit)[0]), atol=1e-12)


@pytest.mark.parametrize("linear", [True, False])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 9, 12])
@pytest.mark.parametrize("d", [1, 2, 3, 6, 7, 8, 9, 15, 17])
def test_packed_products_are_the_outer_products(linear, n, d):
    """Written in vectors of eight, they must not run over the end of the array, nor over each other."""
    z = np.random.default_rng(0).normal(size=(n, d))
    width = 1 + d * linear + d * (d + 1) // 2
    buffer = np.full(n * width + 16, -7.0)
    packed = buffer[: n * width].reshape(n, width)
    kernels.pack_outer(z, linear, packed)
    for row, out in zip(z, packed, strict=True):
        pairs = [row[i] * row[j] for i in range(d) for j in range(i, d)]
        np.testing.assert_array_equal(out, [1.0, *(row if linear else []), *pairs])
    np.testing.assert_array_equal(buffer[n * width :], -7.0)


def test_counts_are_scored_and_collected_as_dense_ones():
    rng = np.random.default_rng(0)
    dense = rng.poisson(0.7, (20, 6)).astype(float)
    rows = sparse.csr_array(dense)
    indptr, indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
    per_word, out = rng.normal(size=(6, 3)), np.ones((20, 3))
    kernels.score_counts(indptr, indices, rows.data, per_word, out)
    np.testing.assert_allclose(out, 1 + dense @ per_word)
    resp, sums = Responsibilities.from_dense(rng.dirichlet(np.ones(3), 20)), np.ones((3, 7))
    kernels.collect_counts(indptr, indices, rows.data, *resp, sums)
    stats = np.column_stack([np.ones(20), dense])
    np.testing.assert_allclose(sums - 1, plain.summarize(stats, resp.toarray(3)), atol=1e-12)


@pytest.mark.parametrize("n", [1, 95, 96, 97, 500])
@pytest.mark.parametrize(("n_clusters", "width"), [(1, 32), (8, 326), (25, 351), (100, 1326), (3, 5)])
def test_products_by_sheaves_are_products(n, n_clusters, width):
    """Rows in any number, in sheaves where clusters are few and in one product where they are not."""
    rng = np.random.default_rng(n)
    stats, eta, resp = rng.normal(size=(n, width)), rng.normal(size=(n_clusters, width)), rng.random((n, n_clusters))
    scores, sums = np.empty((n, n_clusters)), np.ones((n_clusters, width))
    kernels.score_dense(stats, np.ascontiguousarray(eta.T), scores)
    collect_dense(stats, Responsibilities.from_dense(resp), sums)
    np.testing.assert_allclose(scores, stats @ eta.T, atol=1e-10)
    np.testing.assert_allclose(sums, 1 + resp.T @ stats, atol=1e-10)
    assert kernels.sheaf_rows(n_clusters, width) == {32: 96, 326: 96, 351: 96}.get(width, 0)
