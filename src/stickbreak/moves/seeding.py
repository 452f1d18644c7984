"""First guesses of a sample's clusters: seeds, and each row with its nearest seed.

A cluster started from its seed's row alone would have a tiny covariance. Rows of a sample that are alike are put
together and ordered by content, so that a row of weight 2 starts a run just as the row twice does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from stickbreak.core.arrays import Floats, Ints, Rows
from stickbreak.core.kernels import Responsibilities
from stickbreak.core.mixture import Mixture
from stickbreak.core.summary import Summary
from stickbreak.core.workspace import Workspace
from stickbreak.errors import OptionError


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Distinct rows of the data with their weights."""

    rows: Rows
    weight: Floats


class Start(Protocol):
    """A way to begin."""

    def on(self, sample: Sample, model: Mixture, n_clusters: int, rng: np.random.Generator) -> Summary:
        """Summarize a sample by a first guess of its clusters."""


@dataclass(frozen=True)
class RandomRows:
    """Seeds are rows drawn at random.

    Examples
    --------
    >>> RandomRows()
    RandomRows()
    """

    def on(self, sample: Sample, model: Mixture, n_clusters: int, rng: np.random.Generator) -> Summary:
        """Summarize a sample by its rows' nearest seeds."""
        share = sample.weight / sample.weight.sum()
        seeds = rng.choice(len(share), size=min(n_clusters, len(share)), replace=False, p=share)
        return _by_nearest(sample, model, model.family.embed(sample.rows), seeds)


@dataclass(frozen=True)
class KMeansPlusPlus:
    """Seeds are rows far from one another, by k-means++ (Arthur & Vassilvitskii 2007).

    Examples
    --------
    >>> KMeansPlusPlus()
    KMeansPlusPlus()
    """

    def on(self, sample: Sample, model: Mixture, n_clusters: int, rng: np.random.Generator) -> Summary:
        """Summarize a sample by its rows' nearest seeds."""
        from sklearn.cluster import kmeans_plusplus

        places = model.family.embed(sample.rows)
        n = min(n_clusters, len(sample.weight))
        seed = np.random.RandomState(rng.integers(2**32))
        _, seeds = kmeans_plusplus(places, n, sample_weight=sample.weight, random_state=seed)
        return _by_nearest(sample, model, places, np.unique(seeds))


@dataclass(frozen=True)
class BestOf:
    """The best of several cheap starts, judged by the bound of a few full laps over the sample.

    Parameters
    ----------
    n : int
        Starts to try.
    start : KMeansPlusPlus or RandomRows
        What to try.
    laps : int
        Laps over the sample before judging.

    Examples
    --------
    >>> BestOf(5).n
    5
    """

    n: int = 10
    start: Start = KMeansPlusPlus()
    laps: int = 5

    def __post_init__(self) -> None:
        if self.n < 1 or self.laps < 1:
            raise OptionError(f"BestOf needs n and laps of at least 1, not {self.n} and {self.laps}.")

    def on(self, sample: Sample, model: Mixture, n_clusters: int, rng: np.random.Generator) -> Summary:
        """Summarize a sample by the best start."""
        return max((self._tried(sample, model, n_clusters, rng) for _ in range(self.n)), key=model.bound)

    def _tried(self, sample: Sample, model: Mixture, n_clusters: int, rng: np.random.Generator) -> Summary:
        s = self.start.on(sample, model, n_clusters, rng)
        for _ in range(self.laps):
            s = model.summarize(sample.rows, sample.weight, model.posterior(s), s.n_clusters, Workspace()).by_size()
        return s


BY_NAME: dict[str, Start] = {"k-means++": KMeansPlusPlus(), "random": RandomRows(), "best-of-10": BestOf(10)}
"""Starts by the names that an estimator takes."""


def stacked(parts: Sequence[Rows]) -> Rows:
    """Put rows, dense or CSR, under one another."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate([np.asarray(part) for part in parts])
    several: list[Any] = list(parts)
    rows: sparse.csr_array = sparse.vstack(several, format="csr")
    return rows


def distinct(rows: Rows, weight: Floats) -> Sample:
    """Put rows of the same content together, adding their weights; rows without weight are left out.

    Their order is that of their values, column by column: units of measurement don't change it, nor does precision.
    """
    rows, weight = rows[weight > 0], weight[weight > 0]
    if isinstance(rows, np.ndarray):
        values = np.nan_to_num(np.asarray(rows, dtype=np.float64), nan=np.inf) + 0.0
        _, first, group = np.unique(values, axis=0, return_index=True, return_inverse=True)
    else:
        rows.sort_indices()
        ends = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
        keys = [rows.indices[a:b].tobytes() + rows.data[a:b].astype(np.float64).tobytes() for a, b in ends]
        _, first, group = np.unique(np.array(keys, dtype=object), return_index=True, return_inverse=True)
    together = np.zeros(len(first))
    np.add.at(together, group.ravel(), weight)
    return Sample(rows[first], together)


def _by_nearest(sample: Sample, model: Mixture, places: Floats, seeds: Ints) -> Summary:
    from sklearn.metrics import pairwise_distances_argmin

    nearest = pairwise_distances_argmin(places, places[seeds])
    n = len(nearest)
    resp = Responsibilities(np.arange(n + 1), nearest.astype(np.int64), np.asarray(sample.weight))
    return model.summarize_given(sample.rows, resp, np.arange(len(seeds), dtype=np.int64), Workspace())
