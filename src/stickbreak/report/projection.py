"""Rows and clusters in two dimensions, to be looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from stickbreak.core.arrays import Floats, Ints, Rows
from stickbreak.data import open_source
from stickbreak.errors import InputError, OptionError
from stickbreak.report.contrasts import column_names

MOST_ROWS = 10_000
"""More points than this hide each other."""


@dataclass(frozen=True, slots=True)
class Projection:
    """What a scatter plot shows.

    Parameters
    ----------
    points : ndarray of shape (n, 2)
        Rows.
    labels : ndarray of shape (n,)
        The cluster of each.
    centres : dict of int to ndarray of shape (2,)
        Middles of the clusters.
    covariances : ndarray of shape (K, 2, 2) or None
        Covariances of the clusters, for families that have them.
    names : tuple of str
        What the two axes show.
    """

    points: Floats
    labels: Ints
    centres: dict[int, Floats]
    covariances: Floats | None
    names: tuple[str, str]


def project(model: Any, X: Any, columns: Sequence[int] | None) -> Projection:
    """Bring rows and clusters to two dimensions.

    Parameters
    ----------
    model : DPMixture
        A fitted model.
    X : array, frame or path
        The rows.
    columns : (int, int), optional
        Columns to show; by default the only two, or the leading principal components.

    Returns
    -------
    Projection
        What to draw.
    """
    rows, labels = _sample(model, X)
    d = rows.shape[1]
    if columns is None and d == 2:
        columns = (0, 1)
    if columns is not None:
        return _plane(model, rows, labels, _two(columns, d))
    if d == 1:
        return _strip(model, rows, labels)
    return _principal(model, rows, labels)


def _sample(model: Any, X: Any) -> tuple[Rows, Ints]:
    """Rows as numbers, and their clusters; of many rows an even choice."""
    labels = model.predict(X)
    step = max(1, -(-len(labels) // MOST_ROWS))
    with open_source(X, schema=getattr(model, "schema_", None)) as source:
        pieces: list[Any] = [piece.rows[-piece.where.start % step :: step] for piece in source.pieces()]
    rows: Any = sparse.vstack(pieces).tocsr() if sparse.issparse(pieces[0]) else np.concatenate(pieces)
    return rows, labels[::step]


def _two(columns: Sequence[int], d: int) -> tuple[int, int]:
    chosen = tuple(int(c) for c in columns)
    if len(chosen) != 2 or not all(0 <= c < d for c in chosen):
        raise OptionError(f"columns={tuple(columns)} must be two column numbers from 0 to {d - 1}.")
    return chosen[0], chosen[1]


def _clusters(model: Any) -> tuple[Floats, Floats] | None:
    """Means (K, D) and covariances (K, D, D) of Gaussian clusters."""
    if hasattr(model, "covariances_"):
        return model.means_, model.covariances_
    if hasattr(model, "variances_"):
        return model.means_, model.variances_[:, :, None] * np.eye(model.means_.shape[1])
    return None


def _plane(model: Any, rows: Rows, labels: Ints, columns: tuple[int, int]) -> Projection:
    """Two columns as they are."""
    at = list(columns)
    cells = rows[:, at]
    points = np.asarray(cells if isinstance(cells, np.ndarray) else cells.toarray(), dtype=np.float64)
    first, second = column_names(model, columns)
    clusters = _clusters(model)
    if clusters is None:
        return Projection(points, labels, _middles(points, labels), None, (first, second))
    means, covariances = clusters
    return Projection(points, labels, _held(model, means[:, at]), covariances[:, at][:, :, at], (first, second))


def _strip(model: Any, rows: Rows, labels: Ints) -> Projection:
    """One column, each cluster on a line of its own."""
    if not isinstance(rows, np.ndarray):
        rows = rows.toarray()
    jitter = np.random.default_rng(0).uniform(-0.3, 0.3, len(labels))
    points = np.column_stack([rows[:, 0], labels + jitter])
    return Projection(points, labels, {}, None, (column_names(model, [0])[0], "cluster"))


def _principal(model: Any, rows: Rows, labels: Ints) -> Projection:
    """The two leading principal components of the columns brought to the same spread."""
    from sklearn.decomposition import PCA

    names = ("first principal component", "second principal component")
    clusters = _clusters(model)
    if len(labels) < 2:
        raise InputError("principal components need two rows or more; choose two columns by columns=(i, j).")
    if clusters is None:
        embedded = model.family_.embed(rows)
        points = PCA(2, svd_solver="arpack" if sparse.issparse(embedded) else "auto", random_state=0).fit_transform(
            embedded
        )
        return Projection(points, labels, _middles(points, labels), None, names)
    means, covariances = clusters
    rows = np.asarray(rows, dtype=np.float64)
    centre, spread = np.nanmean(rows, axis=0), np.nanstd(rows, axis=0)
    spread = np.where(spread > 0, spread, 1.0)
    pca = PCA(2, random_state=0)
    points = pca.fit_transform(np.nan_to_num((rows - centre) / spread))
    turn = pca.components_ / spread
    at = pca.transform((means - centre) / spread)
    return Projection(points, labels, _held(model, at), turn @ covariances @ turn.T, names)


def _middles(points: Floats, labels: Ints) -> dict[int, Floats]:
    """Mean points of the clusters that have any."""
    with_points = np.unique(labels).tolist()
    return {k: np.nanmean(points[labels == k], axis=0) for k in with_points}


def _held(model: Any, means: Floats) -> dict[int, Floats]:
    """Means of the clusters that hold a row or more; others lie where the prior put them."""
    return {k: means[k] for k in np.flatnonzero(model.summary_.counts >= 0.5).tolist()}
