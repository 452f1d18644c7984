"""Where a run begins: the sums that its first global step follows from.

A start needs no pass over the data unless responsibilities are given for all of it: seeds are found on a sample of
rows, the sample's rows go to their nearest seeds, and their sums are scaled up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

import numpy as np

from stickbreak.core.arrays import Floats, Ints
from stickbreak.core.kernels import Responsibilities
from stickbreak.core.mixture import Mixture
from stickbreak.core.summary import Summary, total
from stickbreak.errors import DataError, InputError, OptionError
from stickbreak.moves.seeding import Sample, Start, distinct, stacked

if TYPE_CHECKING:
    from stickbreak.data import Source
    from stickbreak.learn.workers import Crew, Weights

SAMPLE_BYTES = 64 << 20
SAMPLE_ROWS = 10_000


def seeded(
    start: Start, source: Source, weights: Weights, model: Mixture, n_clusters: int, rng: np.random.Generator
) -> Summary:
    """Begin from a sample of the data, scaled up to all of it."""
    # Streams of their own: what the number of rows changes in the drawing must not change the seeding.
    drawing, seeding = rng.spawn(2)
    sample = draw_sample(source, weights, model, n_clusters, drawing)
    s = start.on(sample, model, n_clusters, seeding).without_empty().by_size()
    s = replace(s, ids=np.arange(s.n_clusters, dtype=np.int64))
    return s.scaled(weights.total(known_rows(source)) / float(sample.weight.sum()))


def draw_sample(source: Source, weights: Weights, model: Mixture, n_clusters: int, rng: np.random.Generator) -> Sample:
    """Draw rows without replacement, all of them if the data are small, and put like rows together."""
    n = known_rows(source)
    room = SAMPLE_BYTES // (8 * max(len(model.family.prior_natural) // 8, source.n_columns))
    size = min(n, int(np.clip(room, 20 * n_clusters, max(SAMPLE_ROWS, 20 * n_clusters))))
    wanted = np.sort(rng.choice(n, size=size, replace=False))
    rows, weight = [], []
    for piece in source.pieces():
        inside = wanted[(wanted >= piece.where.start) & (wanted < piece.where.stop)] - piece.where.start
        rows.append(piece.rows[inside])
        weight.append(weights.of(piece)[inside])
        if piece.where.stop > wanted[-1]:
            break
    return distinct(stacked(rows), np.concatenate(weight))


def from_labels(labels: Ints, source: Source, weights: Weights, model: Mixture, crew: Crew) -> Summary:
    """Begin from a given cluster for each row; rows labelled -1 are left out."""
    given = np.asarray(labels)
    if not np.issubdtype(given.dtype, np.integer):
        raise OptionError(f"init holds labels of type {given.dtype}; whole numbers were expected.")
    names, position = np.unique(given[given >= 0], return_inverse=True)
    if len(names) == 0:
        raise OptionError("init gives no row a label of 0 or more.")
    place = np.full(len(given), -1)
    place[given >= 0] = position

    def rows_of(where: slice) -> Floats:
        return np.asarray(place[where][:, None] == np.arange(len(names)), dtype=np.float64)

    return _from_given(rows_of, len(given), len(names), source, weights, model, crew)


def from_responsibilities(resp: Floats, source: Source, weights: Weights, model: Mixture, crew: Crew) -> Summary:
    """Begin from given responsibilities, one row for each row of the data."""
    given = np.asarray(resp, dtype=np.float64)
    if not np.all(np.isfinite(given)) or np.any(given < 0) or not np.allclose(given.sum(axis=1), 1, atol=1e-6):
        raise OptionError(
            "init holds responsibilities that are negative, not finite, or don't add up to one in each row."
        )

    def rows_of(where: slice) -> Floats:
        chosen = given[where]
        return np.asarray(chosen / chosen.sum(axis=1, keepdims=True))

    return _from_given(rows_of, len(given), given.shape[1], source, weights, model, crew)


def from_summary(old: Summary, model: Mixture, weight: float) -> Summary:
    """Begin from a previous model's sums, in this model's coordinates, scaled to this data's weight."""
    if old.stats.shape[1] != len(model.family.prior_natural):
        raise OptionError("init is a model of another family or of data of another width.")
    mass = float(old.counts.sum())
    if mass <= 0:
        raise OptionError("init is a model that holds no rows.")
    return old.scaled(weight / mass)


def known_rows(source: Source) -> int:
    """Number of rows, which a first pass has counted."""
    if source.n_rows is None:
        raise InputError("the rows have not been counted yet.")
    return source.n_rows


def _from_given(
    rows_of: _RowsOf, n_given: int, n_clusters: int, source: Source, weights: Weights, model: Mixture, crew: Crew
) -> Summary:
    from stickbreak.learn.workers import tasks

    n = known_rows(source)
    if n_given != n:
        raise DataError(f"init has {n_given} rows, but the data have {n}.")
    ids = np.arange(n_clusters, dtype=np.int64)
    parts = [Summary.empty(ids, len(model.family.prior_natural))]
    for task in tasks(source.pieces(), model.tile_rows(n_clusters)):
        weight = weights.of(task)
        held = weight > 0
        resp = Responsibilities.from_dense((rows_of(task.where) * weight[:, None])[held])
        parts.append(model.summarize_given(task.rows[held], resp, ids, crew.workspace))
    s = total(parts).without_empty().by_size()
    return replace(s, ids=np.arange(s.n_clusters, dtype=np.int64)).scaled(weights.total(n) / float(s.counts.sum()))


class _RowsOf(Protocol):
    def __call__(self, where: slice) -> Floats: ...
