"""Summaries are a commutative group under addition, clusters matched by their ids."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stickbreak import Summary
from stickbreak.core.kernels import Responsibilities
from stickbreak.core.mixture import Mixture
from stickbreak.core.summary import total
from stickbreak.core.workspace import Workspace
from stickbreak.priors import DirichletProcess
from textbook.members import FAMILIES, some_responsibilities

WIDTH = 3
# Quarters add up without rounding, so that laws can be checked to the last bit.
QUARTERS = st.integers(-400, 400).map(lambda i: i / 4)


@st.composite
def summaries(draw, elements=QUARTERS):
    ids = np.array(draw(st.lists(st.integers(0, 8), min_size=0, max_size=5, unique=True)), dtype=np.int64)
    stats = draw(hnp.arrays(float, (len(ids), WIDTH), elements=elements))
    entropy = draw(hnp.arrays(float, len(ids), elements=elements))
    return Summary(stats, entropy, draw(elements), ids)


def table(s):
    """What a summary says of each cluster, whatever their order; a cluster that holds nothing says nothing."""
    rows = {int(i): (*t.tolist(), h) for i, t, h in zip(s.ids, s.stats, s.entropy, strict=True)}
    return {i: row for i, row in rows.items() if any(row)}, s.log_base


def frozen(s):
    return s.stats.tobytes(), s.entropy.tobytes(), s.log_base, s.ids.tobytes()


@given(summaries(), summaries())
def test_addition_commutes_and_follows_the_ids(a, b):
    before = frozen(a), frozen(b)
    assert table(a + b) == table(b + a)
    expected = {}
    for s in (a, b):
        for i, t, h in zip(s.ids, s.stats, s.entropy, strict=True):
            expected[int(i)] = expected.get(int(i), 0) + np.array([*t, h])
    found = {int(i): np.array([*t, h]) for i, t, h in zip((a + b).ids, (a + b).stats, (a + b).entropy, strict=True)}
    assert found.keys() == expected.keys()
    assert all(np.array_equal(found[i], expected[i]) for i in found)
    assert (frozen(a), frozen(b)) == before


@given(summaries(), summaries(), summaries())
def test_addition_is_associative(a, b, c):
    assert table((a + b) + c) == table(a + (b + c)) == table(total([a, b, c]))


@given(summaries(), summaries())
def test_subtraction_undoes_addition(a, b):
    assert table((a + b) - b) == table(a)
    assert table(a - a) == ({}, 0.0)
    assert table((a - b) + b) == table(a)
    assert table(a - b) == table(a + b.scaled(-1))


@given(summaries())
def test_the_summary_of_no_rows_is_zero(a):
    zero = Summary.empty(a.ids, WIDTH)
    assert frozen(a + zero) == frozen(a)
    assert table(zero + a) == table(a)
    assert table(a + Summary.empty(np.array([20, 21]), WIDTH)) == table(a)
    assert table(a.scaled(2)) == table(a + a)


@given(summaries(), summaries())
def test_the_left_ones_order_is_kept(a, b):
    assert np.array_equal((a + b).ids[: a.n_clusters], a.ids)


@given(summaries(st.sampled_from([0.0, 1.0, 1.0, 2.5, 7.0])))
def test_by_size_sorts_and_keeps_what_belongs_together(a):
    b = a.by_size()
    assert np.all(np.diff(b.counts) <= 0)
    assert table(b) == table(a)
    for count in set(a.counts):
        assert np.array_equal(b.ids[b.counts == count], a.ids[a.counts == count])
    assert frozen(b.by_size()) == frozen(b)


@given(summaries(st.sampled_from([0.0, 0.0, 1.0, 2.5])))
def test_without_empty_leaves_out_clusters_of_no_count(a):
    b = a.without_empty()
    assert np.array_equal(b.ids, a.ids[a.counts > 0])
    assert np.array_equal(b.stats, a.stats[a.counts > 0])
    assert b.log_base == a.log_base


@given(summaries(), summaries())
def test_beside_keeps_all_clusters_apart(a, b):
    both = a.beside(b)
    assert both.n_clusters == a.n_clusters + b.n_clusters
    assert len(np.unique(both.ids)) == both.n_clusters
    assert np.array_equal(both.ids[: a.n_clusters], a.ids)
    assert np.array_equal(both.stats, np.vstack([a.stats, b.stats]))
    assert np.array_equal(both.entropy, np.concatenate([a.entropy, b.entropy]))
    assert both.log_base == a.log_base + b.log_base


@given(summaries())
def test_take_picks_clusters(a):
    order = np.arange(a.n_clusters)[::-1][: max(a.n_clusters - 1, 0)]
    b = a.take(order)
    assert np.array_equal(b.ids, a.ids[order])
    assert np.array_equal(b.stats, a.stats[order])
    assert np.array_equal(b.entropy, a.entropy[order])


def test_sums_of_parts_are_the_sum_of_the_whole():
    """What the group is for."""
    member = FAMILIES["product"](30, seed=1)
    model = Mixture(member.family, DirichletProcess())
    resp = Responsibilities.from_dense(some_responsibilities(30, 4, seed=1))
    posterior = model.posterior(model.summarize_given(member.rows, resp, np.arange(4), Workspace()))

    def part(rows):
        return model.summarize(rows, np.ones(len(rows)), posterior, 4, Workspace())

    whole, parts = part(member.rows), [part(member.rows[i::3]) for i in range(3)]
    np.testing.assert_allclose(total(parts).stats, whole.stats, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose((whole - parts[1]).stats, (parts[0] + parts[2]).stats, rtol=1e-11, atol=1e-11)
    assert model.bound(total(parts)) == pytest.approx(model.bound(whole), rel=1e-12)
