"""What a merge promises is what it does: overlaps and gains against responsibilities with columns added."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import xlogy

from stickbreak import families, priors
from stickbreak.core.glances import add_overlaps
from stickbreak.core.kernels import Responsibilities
from stickbreak.core.mixture import Mixture
from stickbreak.core.workspace import Workspace
from stickbreak.moves import merge
from stickbreak.moves.gleaning import Wanted
from textbook import longhand
from textbook.members import ALL_PRIORS, FAMILIES, PRIORS, bind, some_responsibilities

N, K = 60, 6
WIDE = {
    **{name: prior for name, prior in ALL_PRIORS.items() if "finite" not in name},
    "finite": priors.FiniteDirichlet(n_components=80, concentration=2.0),
    "learned-finite": priors.LearnedConcentration(priors.FiniteDirichlet(n_components=80)),
}


def overlap(resp, weight, a, b):
    """What the entropy loses, row by row: f(r_a + r_b) - f(r_a) - f(r_b) with f(r) = r log r."""
    r, s = resp[:, a], resp[:, b]
    return float(weight @ (xlogy(r + s, r + s) - xlogy(r, r) - xlogy(s, s)))


def sums(model, rows, resp, weight, ids=None):
    held = weight > 0
    given = Responsibilities.from_dense((resp * weight[:, None])[held])
    return model.summarize_given(rows[held], given, np.arange(resp.shape[1]) if ids is None else ids, Workspace())


def with_copies(n, seed, *, even=False, n_clusters=K - 2):
    """Responsibilities whose first and second cluster come twice, each row's mass split at random or in halves."""
    resp = some_responsibilities(n, n_clusters, seed)
    part = np.full((n, 2), 0.5) if even else np.random.default_rng(seed).uniform(0, 1, (n, 2))
    return np.column_stack([resp[:, :2] * part, resp[:, 2:], resp[:, :2] * (1 - part)])


def some_weights(n, seed):
    return np.random.default_rng(seed).choice([0.0, 0.5, 1.0, 1.0, 2.0], n)


@given(st.integers(0, 2**32 - 1), st.integers(0, 30), st.integers(1, 8))
def test_overlaps_are_the_entropy_that_a_merge_takes(seed, n, n_clusters):
    rng = np.random.default_rng(seed)
    resp = rng.dirichlet(np.full(n_clusters, 0.3), n) * (rng.random((n, n_clusters)) < 0.6)
    resp /= np.maximum(resp.sum(axis=1, keepdims=True), 1e-300)
    weight = some_weights(n, seed)
    pairs = merge.all_pairs(n_clusters)
    asked = rng.permutation(len(pairs))[: len(pairs) // 2 + 1]
    number = np.full((n_clusters, n_clusters), -1)
    for place, (a, b) in enumerate(pairs[asked]):
        number[a, b] = number[b, a] = place
    before = rng.standard_normal(len(asked))
    out = before.copy()
    add_overlaps(Responsibilities.from_dense(resp * weight[:, None]), number, out)
    expected = [overlap(resp, weight, a, b) for a, b in pairs[asked]]
    np.testing.assert_allclose(out - before, expected, rtol=1e-11, atol=1e-12)
    apart = [not np.any((resp[:, a] > 0) & (resp[:, b] > 0) & (weight > 0)) for a, b in pairs[asked]]
    np.testing.assert_array_equal(out[apart], before[apart])


class Plain:
    """Rows with all their responsibilities, so that merged clusters can be summed afresh."""

    def __init__(self, model, member, limit, seed):
        self.model, self.member, self.weight = model, member, some_weights(len(member.rows), seed)
        start = sums(model, member.rows, with_copies(len(member.rows), seed), self.weight).by_size()
        pairs = start.ids[merge.all_pairs(start.n_clusters)]
        nobody = np.empty(0, np.int64)
        search = Wanted(pairs, nobody, np.empty(0), nobody, 0.5, 0).among(start.ids)
        held = self.weight > 0
        found, glance = search.over(member.rows[held], self.weight[held], np.flatnonzero(held))
        self.resp = np.zeros((len(member.rows), start.n_clusters))

        def look(where, resp):
            glance(where, resp)
            self.resp[np.flatnonzero(held)[where]] = resp.toarray(start.n_clusters)

        posterior = model.posterior(start)
        s = model.summarize(member.rows[held], self.weight[held], posterior, limit, Workspace(), look)
        self.resp[held] /= self.weight[held, None]
        self.summary, self.ids, self.pairs, self.overlaps = s.by_size(), s.ids.tolist(), pairs, found.overlaps

    def join(self, kept, gone):
        """Add a column of the responsibilities to another."""
        a, b = self.ids.index(kept), self.ids.index(gone)
        self.resp[:, a] += self.resp[:, b]
        self.resp = np.delete(self.resp, b, axis=1)
        self.ids.remove(gone)

    def fresh(self):
        return sums(self.model, self.member.rows, self.resp, self.weight, np.array(self.ids)).by_size()


@pytest.mark.parametrize("limit", [K, 2], ids=["dense", "two-a-row"])
@pytest.mark.parametrize("shares", ALL_PRIORS)
@pytest.mark.parametrize("name", FAMILIES)
def test_merges_do_what_they_promise(name, shares, limit):
    """One by one and all together, in bound and sums."""
    member = FAMILIES[name](N, seed=11)
    model = Mixture(member.family, ALL_PRIORS[shares])
    plain = Plain(model, member, limit, seed=11)
    s = plain.summary.without_empty()
    expected = [overlap(plain.resp, plain.weight, *(plain.ids.index(k) for k in pair)) for pair in plain.pairs]
    np.testing.assert_allclose(plain.overlaps, expected, rtol=1e-9, atol=1e-10)
    found = merge.choose_merges(model, s, plain.pairs, plain.overlaps)
    assert len(found.kept) >= 1
    together = [*found.kept, *found.gone]
    assert len(set(together)) == len(together)
    bounds = [model.bound(s)]
    whole = s.merged(found.kept, found.gone, plain.overlaps[found.place]).by_size()
    for kept, gone, place, gain in zip(found.kept, found.gone, found.place, found.gain, strict=True):
        assert sorted([kept, gone]) == sorted(plain.pairs[place].tolist())
        s = s.merged(np.array([kept]), np.array([gone]), plain.overlaps[[place]]).by_size()
        plain.join(kept, gone)
        bounds.append(model.bound(s))
        assert bounds[-1] - bounds[-2] == pytest.approx(gain, abs=1e-8 * abs(bounds[0]))
        assert gain > 0
        afresh = plain.fresh().without_empty()
        assert s.log_base == pytest.approx(afresh.log_base, rel=1e-12)
        assert model.bound(afresh) == pytest.approx(bounds[-1], rel=1e-9)
        order = afresh.only(s.ids)
        np.testing.assert_allclose(s.stats, order.stats, rtol=1e-9, atol=1e-8)
        np.testing.assert_allclose(s.entropy, order.entropy, rtol=1e-8, atol=1e-8)
    assert found.gain.sum() == pytest.approx(bounds[-1] - bounds[0], abs=1e-8 * abs(bounds[0]))
    assert model.bound(whole) == pytest.approx(bounds[-1], rel=1e-12)
    if shares in PRIORS:
        resp = plain.resp[:, np.argsort(-(plain.weight @ plain.resp), kind="stable")]
        slow = longhand.elbo(member.rows, resp, plain.weight, member.twin, PRIORS[shares][1])
        assert bounds[-1] == pytest.approx(slow, rel=1e-8)


@pytest.mark.parametrize("name", FAMILIES)
def test_near_merges_are_those_that_lose_little(name):
    """They have lost, by no more than the slack, and are in none of the merges that are made."""
    member = FAMILIES[name](N, seed=4)
    model = Mixture(member.family, ALL_PRIORS["dirichlet-process"])
    plain = Plain(model, member, K, seed=4)
    s = plain.summary.without_empty()
    found = merge.choose_merges(model, s, plain.pairs, plain.overlaps)
    assert found.tried >= len(found.kept) + len(found.near)
    after = s.merged(found.kept, found.gone, plain.overlaps[found.place]).by_size()
    losses = []
    for kept, gone, place in found.near.tolist():
        assert not {kept, gone} & {*found.kept.tolist(), *found.gone.tolist()}
        tried = after.merged(np.array([kept]), np.array([gone]), plain.overlaps[[place]]).by_size()
        losses.append(model.bound(after) - model.bound(tried))
        assert -1e-8 * abs(model.bound(s)) < losses[-1]
        # Each loss was found given the merges made before it, some of them before the last.
        assert losses[-1] < merge.slack(s) + 10
    assert np.all(np.diff(losses) > -10)


@pytest.mark.parametrize("shares", ALL_PRIORS)
@pytest.mark.parametrize("name", FAMILIES)
def test_two_copies_of_a_cluster_are_merged(name, shares):
    """They lose N log 2 nats of entropy, and the weights and the family gain more."""
    member = FAMILIES[name](N, seed=2)
    model = Mixture(member.family, ALL_PRIORS[shares])
    resp, weight = with_copies(N, 2, even=True), np.ones(N)
    s = sums(model, member.rows, resp, weight).by_size()
    pairs = s.ids[merge.candidates(model, s)]
    assert {(0, K - 2), (1, K - 1)} <= {tuple(sorted(pair)) for pair in pairs.tolist()}
    overlaps = np.array([overlap(resp, weight, a, b) for a, b in pairs])
    found = merge.choose_merges(model, s, pairs, overlaps)
    lost = dict(zip(map(tuple, np.sort(pairs, axis=1).tolist()), overlaps, strict=True))
    assert lost[0, K - 2] == pytest.approx(2 * s.counts[s.places(np.array([0]))][0] * np.log(2))
    for pair in ((0, K - 2), (1, K - 1)):
        place = [i for i, p in enumerate(pairs.tolist()) if tuple(sorted(p)) == pair]
        alone = merge.choose_merges(model, s, pairs[place], overlaps[place])
        assert len(alone.kept) == 1
        assert alone.gain[0] > 0
    assert {0, 1, K - 2, K - 1} & {*found.kept.tolist(), *found.gone.tolist()}


def many_groups(kind, z):
    """Rows of as many groups as there are labels, each unlike the others."""
    rng, n, many = np.random.default_rng(0), len(z), z.max() + 1
    if kind in ("gaussian", "diagonal-gaussian"):
        return rng.normal(np.stack([z % 8, z // 8], axis=1) * 6.0, 1.0)
    if kind == "zero-mean-gaussian":
        way = np.pi * z / many
        long, short = rng.normal(0, 1000.0, n), rng.normal(0, 1.0, n)
        return np.stack([long * np.cos(way) - short * np.sin(way), long * np.sin(way) + short * np.cos(way)], axis=1)
    if kind == "multinomial":
        return np.eye(many)[z] * 20 + rng.poisson(0.2, (n, many))
    if kind == "categorical":
        return np.stack([z, (z + rng.integers(0, 2, n)) % many], axis=1).astype(float)
    if kind == "bernoulli":
        return ((np.eye(many)[z] + (rng.random((n, many)) < 0.01)) > 0).astype(float)
    return rng.poisson(np.stack([4.0 ** (z % 8), 4.0 ** (z // 8)], axis=1)).astype(float)


@pytest.mark.parametrize("shares", WIDE)
@pytest.mark.parametrize(
    "kind",
    ["gaussian", "zero-mean-gaussian", "diagonal-gaussian", "multinomial", "categorical", "bernoulli", "poisson"],
)
def test_two_copies_are_found_among_many_clusters(kind, shares):
    """Copies of the largest, of a middling and of the smallest."""
    many = merge.FEW + 4
    z = np.repeat(np.arange(many), np.linspace(40, 6, many).astype(int))
    X, copied = many_groups(kind, z), [0, many // 2, many - 1]
    model = Mixture(bind(families.BY_NAME[kind](), X), WIDE[shares])
    resp, weight = np.eye(many)[z], np.ones(len(z))
    resp[:, copied] /= 2
    resp = np.column_stack([resp, resp[:, copied]])
    s = sums(model, X, resp, weight).by_size()
    pairs = s.ids[merge.candidates(model, s)]
    assert len(pairs) <= merge.NEIGHBOURS * s.n_clusters
    copies = np.stack([copied, np.arange(many, many + 3)], axis=1)
    assert set(map(tuple, copies.tolist())) <= set(map(tuple, np.sort(pairs, axis=1).tolist()))
    overlaps = np.array([overlap(resp, weight, a, b) for a, b in copies])
    assert len(merge.choose_merges(model, s, copies, overlaps).kept) == len(copies)


@pytest.mark.parametrize("shares", ALL_PRIORS)
def test_a_merged_cluster_takes_its_place_by_size(shares):
    """Copies of the smaller cluster, together the largest: sticks are counted in the new order."""
    member = FAMILIES["gaussian"](N, seed=2)
    model, weight = Mixture(member.family, ALL_PRIORS[shares]), np.ones(N)
    resp = np.tile([0.4, 0.3, 0.3], (N, 1))
    s = sums(model, member.rows, resp, weight).by_size()
    pair = np.array([[1, 2]])
    lost = np.array([overlap(resp, weight, 1, 2)])
    found = merge.choose_merges(model, s, pair, lost)
    after = s.merged(np.array([1]), np.array([2]), lost).by_size()
    assert after.ids.tolist() == [1, 0]
    assert found.gain[0] == pytest.approx(model.bound(after) - model.bound(s), abs=1e-9 * abs(model.bound(s)))
