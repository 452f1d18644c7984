"""Births: new clusters from a fresh mixture on rows of one old cluster (Hughes & Sudderth 2013, supplement section 2).

Collection happens on the way of a lap (`gleaning`), creation here, adoption in the next lap (`learn.memoized`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Protocol, TypeVar

import numpy as np

from stickbreak.core.arrays import Ints
from stickbreak.core.mixture import Mixture
from stickbreak.core.summary import Summary, total
from stickbreak.core.workspace import Workspace
from stickbreak.moves.gleaning import Gleaned, Wanted
from stickbreak.moves.merge import all_pairs, choose_merges
from stickbreak.moves.options import Moves
from stickbreak.moves.seeding import KMeansPlusPlus, Sample, distinct

SETTLED = 1e-2
SETTLING = 3e-2
"""A fresh mixture has settled, or nearly so, when an iteration raises its bound by less than so many nats a row."""


PART_ROWS = 512
"""Rows of a sample that are worth a worker's while."""

PARTS = 8
"""Most parts of a sample; how it is cut depends on its size alone, so that results don't depend on the workers."""

T = TypeVar("T")
R = TypeVar("R")


class Hands(Protocol):
    """Somebody who does tasks and gives their results in the tasks' order."""

    def in_order(self, work: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Do tasks."""

    @property
    def workspace(self) -> Workspace:
        """Scratch arrays of the calling thread."""


class OneHand:
    """Does one task after another."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def in_order(self, work: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Do tasks."""
        yield from map(work, tasks)


def create(
    model: Mixture, given: Sample, moves: Moves, mass: float, rng: np.random.Generator, hands: Hands
) -> Summary | None:
    """Make new clusters of a target's sample.

    Parameters
    ----------
    model : Mixture
        The model; the fresh mixture has the same priors.
    given : Sample
        The target's rows.
    moves : Moves
        Options.
    mass : float
        Mass of the target in the whole data, which the sample stands for.
    rng : numpy.random.Generator
        Draws the seeds.
    hands : Hands
        Who does the work.

    Returns
    -------
    Summary or None
        Sums of two or more new clusters over the sample; None if the birth is abandoned.
    """
    sample = distinct(given.rows, given.weight)
    n = min(moves.fresh_components, len(sample.weight), model.prior.most_clusters or moves.fresh_components)
    if n < 2:
        return None
    weight = float(sample.weight.sum())
    best, most = None, 0.0 if moves.births == "judged" else -np.inf
    for _ in range(moves.fresh_starts):
        s = refined(model, sample, KMeansPlusPlus().on(sample, model, n, rng), moves, hands)
        s = s.take(np.flatnonzero(s.counts >= moves.least_share * weight))
        gain = gain_of(model, s, mass / weight) if s.n_clusters > 1 else -np.inf
        if gain > most:
            best, most = s, gain
        elif best is None:
            # Where there is nothing to be found, once is enough.
            break
    return best


def refined(model: Mixture, sample: Sample, s: Summary, moves: Moves, hands: Hands) -> Summary:
    """Fit a fresh mixture to a sample by full inference, merging what the sample doesn't keep apart."""
    weight = float(sample.weight.sum())
    bound, rise = -np.inf, np.inf
    for _ in range(moves.fresh_laps):
        # Overlaps cost as much as the lap: they are summed when the bound hardly rises any more.
        pairs = s.ids[all_pairs(s.n_clusters if rise < SETTLING * weight else 0)]
        found, s = _lap(model, sample, s, pairs, hands)
        last, bound = bound, model.bound(s)
        rise = bound - last
        if len(pairs) == 0 or rise > SETTLED * weight:
            continue
        merges = choose_merges(model, s, pairs, found.overlaps)
        if len(merges.kept) == 0:
            break
        s = s.merged(merges.kept, merges.gone, found.overlaps[merges.place]).by_size()
        if s.n_clusters == 1:
            break
    return s


def _lap(model: Mixture, sample: Sample, s: Summary, pairs: Ints, hands: Hands) -> tuple[Gleaned, Summary]:
    """One lap of full inference over a sample."""
    wanted = Wanted.only_pairs(pairs)
    search, posterior = wanted.among(s.ids), model.posterior(s)
    edges = np.linspace(0, len(sample.weight), max(min(PARTS, len(sample.weight) // PART_ROWS), 1) + 1).astype(int)

    def work(part: tuple[int, int]) -> tuple[Gleaned, Summary]:
        rows, weight = sample.rows[part[0] : part[1]], sample.weight[part[0] : part[1]]
        found, look = search.over(rows, weight, np.arange(*part))
        return found, model.summarize(rows, weight, posterior, s.n_clusters, hands.workspace, look)

    gleaned, sums = Gleaned.nothing(wanted), []
    for found, part in hands.in_order(work, pairwise(edges.tolist())):
        gleaned.add(found)
        sums.append(part)
    return gleaned, total(sums).without_empty().by_size()


def gain_of(model: Mixture, s: Summary, scale: float) -> float:
    """Estimate what new clusters are worth in place of the one that they come from, over all of its rows."""
    one = Summary(s.stats.sum(axis=0, keepdims=True), np.zeros(1), s.log_base, s.ids[:1])
    many = s.scaled(scale)
    return model.bound(many) - model.bound(one.scaled(scale))


def named(s: Summary, first: int) -> Summary:
    """Give clusters ids that nobody has had."""
    return replace(s, ids=np.arange(first, first + s.n_clusters, dtype=np.int64))
