"""What a lap gathers for moves on its way: pair entropies for merges, rows of targeted clusters for births."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stickbreak.core.arrays import Floats, Ints, Rows
from stickbreak.core.glances import add_overlaps, pick_rows
from stickbreak.core.kernels import Responsibilities
from stickbreak.core.summary import places
from stickbreak.moves.seeding import Sample, stacked


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """What to look for in a lap's responsibilities.

    Parameters
    ----------
    pairs : ndarray of shape (M, 2)
        Ids of the clusters that may be merged at the lap's end.
    targets : ndarray of shape (T,)
        Ids of the clusters whose rows are gathered.
    chance : ndarray of shape (T,)
        Probability with which a row of a target is gathered.
    seed : ndarray of shape (T,)
        Of the lots that rows draw.
    threshold : float
        Least responsibility of a row that is gathered, tau.
    room : int
        Most rows that a target's sample holds, N'.
    """

    pairs: Ints
    targets: Ints
    chance: Floats
    seed: Ints
    threshold: float
    room: int

    @classmethod
    def only_pairs(cls, pairs: Ints) -> Wanted:
        """Look for overlaps alone."""
        nobody = np.empty(0, np.int64)
        return cls(pairs, nobody, np.empty(0), nobody, threshold=0.5, room=0)

    def among(self, ids: Ints) -> Search:
        """Make ready for responsibilities whose columns are the clusters of the given ids."""
        place = places(self.pairs, ids)
        number = np.full((len(ids), len(ids)), -1, dtype=np.int64)
        number[place[:, 0], place[:, 1]] = number[place[:, 1], place[:, 0]] = np.arange(len(self.pairs))
        target = np.full(len(ids), -1, dtype=np.int64)
        target[places(self.targets, ids)] = np.arange(len(self.targets))
        return Search(self, number, target)


@dataclass(slots=True, eq=False)
class Gleaned:
    """What was found.

    Parameters
    ----------
    overlaps : ndarray of shape (M,)
        What each pair's merge would take from the entropy of these rows.
    samples : list of list of Sample
        Rows gathered for each target, in parts.
    """

    overlaps: Floats
    samples: list[list[Sample]] = field(default_factory=list)

    @classmethod
    def nothing(cls, wanted: Wanted) -> Gleaned:
        """Begin with nothing."""
        return cls(np.zeros(len(wanted.pairs)), [[] for _ in wanted.targets])

    def add(self, other: Gleaned) -> None:
        """Take in what was found in other rows."""
        self.overlaps += other.overlaps
        for mine, theirs in zip(self.samples, other.samples, strict=True):
            mine.extend(theirs)


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """A `Wanted` made ready for responsibilities of known columns."""

    wanted: Wanted
    number: Ints
    target: Ints

    def over(self, rows: Rows, weight: Floats, numbers: Ints) -> tuple[Gleaned, Glance]:
        """Make ready for some rows: what will be found, and the function that finds it tile by tile."""
        found = Gleaned.nothing(self.wanted)
        return found, Glance(self, rows, weight, numbers, found)


@dataclass(frozen=True, slots=True, eq=False)
class Glance:
    """Looks at the responsibilities of one tile after another (a `core.mixture.Look`)."""

    search: Search
    rows: Rows
    weight: Floats
    numbers: Ints
    found: Gleaned

    def __call__(self, where: slice, resp: Responsibilities) -> None:
        """Add what a tile tells."""
        wanted = self.search.wanted
        if len(wanted.pairs):
            add_overlaps(resp, self.search.number, self.found.overlaps)
        if len(wanted.targets) == 0:
            return
        weight = self.weight[where]
        row, which, share = pick_rows(
            resp, weight, self.numbers[where], self.search.target, wanted.chance, wanted.seed, wanted.threshold
        )
        if len(row) == 0:
            return
        tile = self.rows[where]
        order = np.argsort(which, kind="stable")
        edges = np.searchsorted(which[order], np.arange(len(wanted.targets) + 1))
        for t, parts in enumerate(self.found.samples):
            at = order[edges[t] : edges[t + 1]]
            if len(at):
                parts.append(Sample(tile[row[at]], weight[row[at]] * share[at]))


NOTHING = Wanted.only_pairs(np.empty((0, 2), np.int64)).among(np.empty(0, np.int64))
"""Finds nothing, whatever the clusters are."""


def joined(parts: list[Sample], room: int) -> Sample:
    """Put the parts of a sample together, its first rows as many as there is room for."""
    weight = np.concatenate([part.weight for part in parts])
    return Sample(stacked([part.rows for part in parts])[:room], weight[:room])
