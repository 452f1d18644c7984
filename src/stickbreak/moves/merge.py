r"""Merges: two clusters become one if the bound of the whole data says so (Hughes & Sudderth 2013, section 3.2).

With ``r_m = r_a + r_b`` the merged cluster's sums are ``S_a + S_b``, and the bound changes by

    [evidence(N') - evidence(N)] + [a(lam_0 + S_a + S_b) + a(lam_0) - a(lam_0 + S_a) - a(lam_0 + S_b)] - overlap_ab,

the clusters ordered by size on both sides; ``overlap_ab`` is the entropy lost (`core.glances`). All three are exact,
for the whole data, from sums. Two copies of one cluster lose ``N_ab log 2`` nats of entropy and gain as much from the
weights: pairs are therefore judged by all three terms together, never by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from stickbreak.core.arrays import Floats, Ints
from stickbreak.core.mixture import Mixture
from stickbreak.core.summary import Summary

FEW = 48
"""Up to this many clusters all pairs are candidates."""

NEIGHBOURS = 8
"""With more clusters, each brings in so many pairs on average."""

CHUNK_BYTES = 32 << 20
ROUNDING = 1e-10
"""A gain below this share of the bound is rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class Merges:
    """Merges to be made together: no cluster has a part in two of them.

    Parameters
    ----------
    kept, gone : ndarray of int
        Ids of the clusters that take over, and of those taken over.
    place : ndarray of int
        Each merge's place among the candidates.
    gain : ndarray
        Change of the bound that each merge promised, given those before it.
    near : ndarray of shape (n, 3)
        Merges that nearly paid, the nearest first: ids and place as above. Once rows are assigned anew they may.
    tried : int
        Merges whose change of the bound was computed.
    """

    kept: Ints
    gone: Ints
    place: Ints
    gain: Floats
    near: Ints
    tried: int


_NOBODY = np.empty(0, np.int64)
NO_MERGES = Merges(_NOBODY, _NOBODY, _NOBODY, np.empty(0), _NOBODY.reshape(0, 3), 0)


def all_pairs(n: int) -> Ints:
    """Positions of all pairs of n clusters, of shape (n (n - 1) / 2, 2)."""
    return np.stack(np.triu_indices(n, 1), axis=1).astype(np.int64)


def evidence_gains(model: Mixture, s: Summary, pairs: Ints) -> Floats:
    """``log M(S_a + S_b) - log M(S_a) - log M(S_b)`` of each pair (eq. 12), with ``M(0) = 1``."""
    family = model.family
    lam = model.natural(s)
    alone = family.log_normalizer(lam) - family.prior_normalizer
    together = np.empty(len(pairs))
    step = max(CHUNK_BYTES // (8 * lam.shape[1]), 1)
    for low in range(0, len(pairs), step):
        a, b = pairs[low : low + step].T
        together[low : low + step] = family.log_normalizer(lam[a] + s.stats[b]) - family.prior_normalizer
    return np.asarray(together - alone[pairs[:, 0]] - alone[pairs[:, 1]])


def share_gains(s: Summary, pairs: Ints) -> Floats:
    """About what each merge gains in the clusters' shares: ``f(N_a, N_b)``, up to logarithms of N."""
    a, b = s.counts[pairs[:, 0]], s.counts[pairs[:, 1]]
    return np.asarray(xlogy(a + b, a + b) - xlogy(a, a) - xlogy(b, b))


def slack(s: Summary) -> float:
    """How far below zero a merge is still worth a look: by how much `share_gains` may be off, some logarithms of N."""
    return 10.0 + 4.0 * float(np.log1p(s.counts.sum()))


def candidates(model: Mixture, s: Summary) -> Ints:
    """Choose pairs that may be worth merging, before any pair entropy is known.

    A merge never raises the entropy, so a pair whose other two terms don't gain is out. With many clusters only the
    likeliest pairs are looked at: as ``a`` is convex, ``<grad a(lam_a), S_b> - log M(S_b)`` is a lower bound on a
    pair's evidence gain, and one matrix product gives it for all pairs.

    Returns
    -------
    ndarray of shape (M, 2)
        Positions of the clusters.
    """
    pairs = all_pairs(s.n_clusters)
    if s.n_clusters > FEW:
        lam = model.natural(s)
        alone = model.family.log_normalizer(lam) - model.family.prior_normalizer
        one_way = model.family.expected_natural(lam) @ s.stats.T - alone
        a, b = pairs.T
        likely = np.maximum(one_way[a, b], one_way[b, a]) + share_gains(s, pairs)
        pairs = pairs[np.argsort(-likely, kind="stable")[: NEIGHBOURS * s.n_clusters]]
    hopeful = evidence_gains(model, s, pairs) + share_gains(s, pairs) > -slack(s)
    return pairs[hopeful]


def drawn(model: Mixture, s: Summary, rng: np.random.Generator) -> Ints:
    """Draw pairs as the paper does: one at random, its partner by the ratio of marginal likelihoods (eq. 12)."""
    n = s.n_clusters
    if n < 2:
        return np.empty((0, 2), np.int64)
    chosen = set()
    for a in rng.permutation(n)[: max(n // 2, 1)].tolist():
        others = np.delete(np.arange(n), a)
        log_ratio = evidence_gains(model, s, np.stack([np.full(n - 1, a), others], axis=1))
        share = np.exp(log_ratio - log_ratio.max())
        b = int(rng.choice(others, p=share / share.sum()))
        chosen.add((min(a, b), max(a, b)))
    return np.array(sorted(chosen), dtype=np.int64)


def choose_merges(model: Mixture, s: Summary, pairs: Ints, overlaps: Floats) -> Merges:
    """Choose merges, the most promising first, as long as the bound gains, each given the ones before.

    Parameters
    ----------
    model : Mixture
        The model.
    s : Summary
        Sums of the rows that decide.
    pairs : ndarray of shape (M, 2)
        Ids of the candidates.
    overlaps : ndarray of shape (M,)
        What each merge takes from the entropy of those rows.

    Returns
    -------
    Merges
        What to merge. A cluster that was merged is not merged again: how its entropy overlaps with others is only
        known when the rows have been looked at again.
    """
    here = np.isin(pairs, s.ids).all(axis=1)
    place = np.flatnonzero(here)
    at = s.places(pairs[place])
    evidence = evidence_gains(model, s, at) - overlaps[place]
    likely = evidence + share_gains(s, at)
    order = np.argsort(-likely, kind="stable")
    counts = s.counts.copy()
    least = ROUNDING * abs(model.bound(s))
    before = model.prior.evidence(np.sort(counts)[::-1])
    merged = np.zeros(s.n_clusters, dtype=bool)
    made: list[tuple[int, int, int, float]] = []
    near: list[tuple[int, int, int, float]] = []
    tried, far = 0, -slack(s)
    for i in order[likely[order] > far].tolist():
        a, b = sorted(at[i].tolist(), key=lambda k: (-counts[k], k))
        if merged[a] or merged[b]:
            continue
        tried += 1
        after_counts = counts.copy()
        after_counts[a] += counts[b]
        after_counts[b] = 0.0
        after = model.prior.evidence(np.sort(after_counts[after_counts > 0])[::-1])
        found = (a, b, int(place[i]), after - before + float(evidence[i]))
        if found[-1] > least:
            merged[[a, b]] = True
            counts, before = after_counts, after
            made.append(found)
        elif found[-1] > far:
            near.append(found)
    near = sorted((m for m in near if not merged[[*m[:2]]].any()), key=lambda m: -m[-1])
    kept, gone, places = _columns(made)
    return Merges(
        kept=s.ids[kept],
        gone=s.ids[gone],
        place=places,
        gain=np.array([m[-1] for m in made]),
        near=np.stack([s.ids[_columns(near)[0]], s.ids[_columns(near)[1]], _columns(near)[2]], axis=1),
        tried=tried,
    )


def _columns(found: list[tuple[int, int, int, float]]) -> Ints:
    """Positions of two clusters and place of their pair, each as a row."""
    return np.array([m[:3] for m in found], dtype=np.int64).reshape(-1, 3).T
