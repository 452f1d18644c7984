"""What moves remember from lap to lap: which clusters were tried and failed, and what the lap under way is about.

A cluster from which births have failed is left alone until its mass changes, so that a run that has found its clusters
stops proposing and ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stickbreak.core.arrays import Bools, Floats, Ints
from stickbreak.core.summary import Summary
from stickbreak.moves.gleaning import Wanted
from stickbreak.moves.options import Moves
from stickbreak.moves.seeding import Sample

CHANGED = 0.1
"""A cluster is another one when its mass has changed by so large a share."""

LEAST_MASS = 4.0
"""Smaller clusters are not tried: two rows are no cluster."""

WISP = 64
"""A cluster of fewer rows than columns, or than this, is a wisp."""

SAMPLE_BYTES = 64 << 20
"""Most that the samples of a lap take in memory."""

CREATION_COST = 300.0
"""What a sampled row costs in creation, in rows and clusters of a lap: about ten clusters and thirty iterations."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Births of one cluster.

    Parameters
    ----------
    lap : int
        When it was last tried.
    failures : int
        How often that failed since the cluster last changed.
    mass : float
        The cluster's mass then.
    """

    lap: int
    failures: int
    mass: float


@dataclass(frozen=True, slots=True, eq=False)
class Birth:
    """New clusters in adoption, and the cluster that they come from."""

    parent: int
    ids: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Before:
    """A run as it was before births, or with clusters that are on trial, to go back to if the lap loses."""

    total: Summary
    memos: list[Summary]
    bound: float


@dataclass(slots=True, eq=False)
class Book:
    """What moves remember.

    Parameters
    ----------
    next_id : int
        The first id that no cluster has had.
    trials : dict
        The last trial of each cluster that was tried, by id.
    refused : dict
        Clusters whose rows would not do without them, by id, with their mass when that was tried.
    births : list of Birth
        In adoption in the lap under way.
    near : ndarray of int
        Ids of the smaller clusters of merges that nearly paid in the last lap.
    on_trial : tuple of int
        Ids of clusters dissolved for the lap under way, to see whether their rows do better elsewhere.
    one_by_one : bool
        Whether clusters are dissolved one by one, because several together lost.
    before : Before or None
        What to go back to if they lose.
    wanted : Wanted or None
        What the lap under way, or between laps the last one, gathers; None before the first.
    overlaps : list of ndarray or None
        Of each block visited in this lap, the overlaps of the wanted pairs.
    samples : list of list of Sample
        Rows gathered for each wanted target so far.
    tried : int
        Births tried in the lap under way.
    bound : float or None
        The bound after the last lap.
    flat : bool
        Whether the last lap hardly raised it: time to try whatever is left to try.
    """

    next_id: int = 0
    trials: dict[int, Trial] = field(default_factory=dict)
    refused: dict[int, float] = field(default_factory=dict)
    births: list[Birth] = field(default_factory=list)
    near: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    on_trial: tuple[int, ...] = ()
    one_by_one: bool = False
    before: Before | None = None
    wanted: Wanted | None = None
    overlaps: list[Floats | None] = field(default_factory=list)
    samples: list[list[Sample]] = field(default_factory=list)
    tried: int = 0
    bound: float | None = None
    flat: bool = False

    def failed(self, cluster: int, mass: float, lap: int) -> None:
        """Remember that a birth came to nothing."""
        last = self.trials.get(cluster)
        before = last.failures if last is not None and not _changed(last.mass, mass) else 0
        self.trials[cluster] = Trial(lap, before + 1, mass)

    def succeeded(self, cluster: int) -> None:
        """Forget the trials of a cluster that is not what it was."""
        self.trials.pop(cluster, None)

    def to_dissolve(self, s: Summary, n_columns: int) -> tuple[int, ...]:
        """List clusters whose rows may do better elsewhere, the smallest first: near merges, and wisps.

        A wisp has too few rows to be sure of, often rows of several clusters, so that no single merge pays.
        """
        doubtful = np.isin(s.ids, self.near) | (s.counts < min(n_columns, WISP))
        doubtful[np.argmax(s.counts)] = False
        tried = [c in self.refused and not _changed(self.refused[c], m) for c, m in zip(s.ids, s.counts, strict=True)]
        wanted = s.take(np.flatnonzero(doubtful & ~np.array(tried)))
        smallest_first = wanted.ids[np.argsort(wanted.counts, kind="stable")].tolist()
        return tuple(smallest_first[:1] if self.one_by_one else smallest_first)

    def eligible(self, s: Summary, moves: Moves) -> Bools:
        """Tell from which clusters births may be tried."""
        out = s.counts >= LEAST_MASS
        for k, (cluster, mass) in enumerate(zip(s.ids.tolist(), s.counts.tolist(), strict=True)):
            last = self.trials.get(cluster)
            if last is not None and last.failures >= moves.patience and not _changed(last.mass, mass):
                out[k] = False
        return np.asarray(out)

    def choose_targets(
        self, s: Summary, free: Bools, moves: Moves, n_columns: int, lap: int, rng: np.random.Generator
    ) -> Ints:
        """Draw positions of clusters to gather rows of (supplement eq. 21 and 22)."""
        can = self.eligible(s, moves) & free
        if not can.any():
            return np.empty(0, np.int64)
        weight = np.ones(s.n_clusters)
        if moves.target == "size-and-age":
            age = [lap + 1 - self.trials[c].lap if c in self.trials else lap + 2 for c in s.ids.tolist()]
            weight = s.counts * np.array(age, dtype=np.float64) ** 2
        weight = np.where(can, weight, 0.0)
        order = rng.choice(s.n_clusters, size=int(can.sum()), replace=False, p=weight / weight.sum())
        if moves.births_per_lap is not None:
            return np.asarray(order[: moves.births_per_lap])
        rows = np.cumsum(np.minimum(s.counts[order], moves.room(n_columns)))
        most = SAMPLE_BYTES / (8 * n_columns)
        if not self.flat:
            most = min(most, s.counts.sum() * s.n_clusters / CREATION_COST)
        return np.asarray(order[: max(int(np.searchsorted(rows, most)), 1)])


def _changed(then: float, now: float) -> bool:
    return abs(now - then) > CHANGED * then
