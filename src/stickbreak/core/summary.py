"""The only state: what a set of rows says about each cluster, as sums.

A `Summary` holds, for each cluster k, ``S_k = sum_n r_nk t(x_n)`` (Hughes & Sudderth 2013, eq. 7), the entropy of the
assignments ``H_k = -sum_n r_nk log r_nk``, and the sum of ``log h(x_n)`` over all rows. Everything adds up over
rows, so summaries form a commutative group under ``+`` and ``-``; clusters are matched by their ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np

from stickbreak.core.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """Sums of statistics over some rows, cluster by cluster.

    Parameters
    ----------
    stats : ndarray of shape (K, P)
        ``S_k``, the first column being the count ``N_k``.
    entropy : ndarray of shape (K,)
        ``H_k``, the entropy of the assignments to each cluster, in nats.
    log_base : float
        Sum of ``log h(x_n)``, the part of the density that no parameter changes.
    ids : ndarray of shape (K,)
        A name for each cluster that survives reordering.

    Examples
    --------
    >>> import numpy as np
    >>> a = Summary(np.array([[2.0, 5.0], [1.0, 0.5]]), np.zeros(2), 0.0, np.array([0, 1]))
    >>> b = Summary(np.array([[4.0, 1.0]]), np.zeros(1), 0.0, np.array([1]))
    >>> (a + b).counts
    array([2., 5.])
    >>> (a + b).by_size().ids
    array([1, 0])
    """

    stats: Floats
    entropy: Floats
    log_base: float
    ids: Ints

    @classmethod
    def empty(cls, ids: Ints, n_stats: int) -> Summary:
        """Make the summary of no rows: the zero of the group."""
        return cls(np.zeros((len(ids), n_stats)), np.zeros(len(ids)), 0.0, ids)

    @property
    def n_clusters(self) -> int:
        """Number of clusters, K."""
        return len(self.ids)

    @property
    def n_held(self) -> int:
        """Number of clusters that rows have a part in."""
        return int(np.count_nonzero(self.counts > 0))

    @property
    def counts(self) -> Floats:
        """Expected number of rows (their weight) in each cluster, ``N_k``."""
        return self.stats[:, 0]

    def __add__(self, other: Summary) -> Summary:
        mine, theirs = _aligned(self, other)
        return Summary(
            mine.stats + theirs.stats, mine.entropy + theirs.entropy, self.log_base + other.log_base, mine.ids
        )

    def __sub__(self, other: Summary) -> Summary:
        return self + other.scaled(-1.0)

    def scaled(self, factor: float) -> Summary:
        """Multiply every sum by a factor."""
        return Summary(self.stats * factor, self.entropy * factor, self.log_base * factor, self.ids)

    def take(self, order: Ints) -> Summary:
        """Keep the clusters at the given positions, in that order."""
        return replace(self, stats=self.stats[order], entropy=self.entropy[order], ids=self.ids[order])

    def by_size(self) -> Summary:
        """Put the largest cluster first; clusters of equal size keep their order.

        Sticks are size-biased: for a Dirichlet or Pitman-Yor process this never lowers the bound.
        """
        if np.all(self.counts[1:] <= self.counts[:-1]):
            return self
        return self.take(np.argsort(-self.counts, kind="stable"))

    def without_empty(self) -> Summary:
        """Leave out the clusters that no row has any part in; a nested truncation's bound doesn't change."""
        held = np.flatnonzero(self.counts > 0)
        return self if len(held) == self.n_clusters else self.take(held)

    def only(self, ids: Ints) -> Summary:
        """Keep the clusters of the given ids, in that order."""
        return self if np.array_equal(ids, self.ids) else self.take(self.places(ids))

    def places(self, ids: Ints) -> Ints:
        """Positions of the clusters of the given ids, all of which must be there."""
        return places(ids, self.ids)

    def merged(self, kept: Ints, gone: Ints, overlap: Floats) -> Summary:
        """Let each cluster of `kept` take over all assignments to the one of `gone` (Hughes & Sudderth 2013, 3.2).

        Parameters
        ----------
        kept, gone : ndarray of int
            Ids, no id twice.
        overlap : ndarray
            By how much each merge lowers the entropy.
        """
        to, of = self.places(kept), self.places(gone)
        stats, entropy = self.stats.copy(), self.entropy.copy()
        stats[to] += stats[of]
        entropy[to] += entropy[of] - overlap
        left = np.ones(self.n_clusters, dtype=bool)
        left[of] = False
        return replace(self, stats=stats[left], entropy=entropy[left], ids=self.ids[left])

    def beside(self, other: Summary) -> Summary:
        """Put another summary's clusters behind this one's, as clusters of their own with new ids."""
        fresh = np.arange(other.n_clusters, dtype=np.int64) + (self.ids.max(initial=-1) + 1)
        return Summary(
            np.vstack([self.stats, other.stats]),
            np.concatenate([self.entropy, other.entropy]),
            self.log_base + other.log_base,
            np.concatenate([self.ids, fresh]),
        )


def total(parts: Sequence[Summary]) -> Summary:
    """Add summaries from left to right."""
    return reduce(add, parts)


def places(wanted: Ints, ids: Ints) -> Ints:
    """Positions among `ids` of the wanted ones, all of which must be there."""
    order = np.argsort(ids)
    return np.asarray(order[np.searchsorted(ids, wanted, sorter=order)])


def _aligned(a: Summary, b: Summary) -> tuple[Summary, Summary]:
    """Bring two summaries to the same clusters in the same order: a's, then those that only b has."""
    if np.array_equal(a.ids, b.ids):
        return a, b
    only_b = b.ids[~np.isin(b.ids, a.ids)]
    ids = np.concatenate([a.ids, only_b])
    return _spread(a, ids), _spread(b, ids)


def _spread(s: Summary, ids: Ints) -> Summary:
    """Write the rows of a summary at the places that `ids` gives them, zeros elsewhere."""
    wide = Summary.empty(ids, s.stats.shape[1])
    rows = wide.places(s.ids)
    wide.stats[rows] = s.stats
    wide.entropy[rows] = s.entropy
    return replace(wide, log_base=s.log_base)
