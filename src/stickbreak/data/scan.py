"""What to note of a chunk of rows: where cells are missing, negative, not whole or infinite, and the range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from stickbreak.data.moments import Moments, dense_moments, sparse_moments, sparse_range

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stickbreak.core.arrays import Bools, Dense, Floats, Ints, Rows

Cell = tuple[int, int]

_CELLS = 1 << 17
"""Cells of a chunk: 1 MiB of float64, so that the passes over it find it in the cache."""
_HEAD = 64
"""Rows looked at first for fractions: columns of measurements show one at once and then need no further look."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """What was noted of some rows.

    Attributes
    ----------
    moments : Moments
        Moments of the cells, less the origin.
    low, high : ndarray
        The range of each column, NaN where it has no values.
    fractional : ndarray of bool
        Columns in which a cell is not whole.
    missing_at, negative_at, fractional_at : tuple of int, or None
        The first such cells.
    """

    moments: Moments
    low: Floats
    high: Floats
    fractional: Bools
    missing_at: Cell | None
    negative_at: Cell | None
    fractional_at: Cell | None


def chunks(rows: Rows, start: int) -> Iterator[tuple[Rows, int]]:
    """Divide a piece into chunks.

    Parameters
    ----------
    rows : ndarray or CSR
        The piece.
    start : int
        Number of its first row.

    Yields
    ------
    tuple of ndarray or CSR, and int
        A chunk in float64, and the number of its first row.
    """
    n = rows.shape[0]
    per_row = rows.shape[1] if isinstance(rows, np.ndarray) else max(1, rows.nnz // n // 2)
    step = max(1, _CELLS // per_row)
    for low in range(0, n, step):
        yield rows[low : low + step].astype(np.float64, copy=False), start + low


def infinite_cell(rows: Rows, start: int) -> Cell | None:
    """Find the first infinite cell.

    Parameters
    ----------
    rows : ndarray or CSR
        A chunk.
    start : int
        Number of its first row.

    Returns
    -------
    tuple of int, or None
        Its row and column.
    """
    values = rows if isinstance(rows, np.ndarray) else rows.data
    if np.isfinite(values.sum()):
        return None
    return first_cell(rows, np.isinf(values), start + np.arange(rows.shape[0]))


def first_cell(rows: Rows, mask: Bools, numbers: Ints) -> Cell | None:
    """Find the first cell, in the order of rows, that a mask marks.

    Parameters
    ----------
    rows : ndarray or CSR
        The rows.
    mask : ndarray of bool
        Of the rows' shape; for CSR one element per stored value.
    numbers : ndarray of int
        The rows' numbers.

    Returns
    -------
    tuple of int, or None
        Row number and column.
    """
    if not mask.any():
        return None
    at = int(np.argmax(mask))
    if isinstance(rows, np.ndarray):
        row, column = divmod(at, rows.shape[1])
    else:
        row, column = int(np.searchsorted(rows.indptr, at, side="right")) - 1, int(rows.indices[at])
    return int(numbers[row]), column


def origin_of(rows: Rows, weight: Floats) -> Floats:
    """Choose where to compute from: the mean of the first rows, so that data far from 0 keep their digits."""
    if not isinstance(rows, np.ndarray):
        return np.zeros(rows.shape[1])
    return dense_moments(rows, weight, np.isnan(rows)).mean


def scan(rows: Rows, numbers: Ints, weight: Floats, origin: Floats, whole: Bools) -> Chunk:
    """Note all there is to note of a chunk.

    Parameters
    ----------
    rows : ndarray or CSR
        A chunk in float64, without infinite cells.
    numbers : ndarray of int
        The rows' numbers.
    weight : ndarray of float64
        Their weights, all positive.
    origin : ndarray of float64
        Where moments are computed from; 0 for CSR.
    whole : ndarray of bool
        The columns that are still to be checked for fractions.

    Returns
    -------
    Chunk
        What was noted.
    """
    if isinstance(rows, np.ndarray):
        return _scan_dense(rows, numbers, weight, origin, whole)
    return _scan_sparse(rows, numbers, weight)


def _scan_dense(x: Dense, numbers: Ints, weight: Floats, origin: Floats, whole: Bools) -> Chunk:
    missing = None if np.isfinite(x.sum()) else np.isnan(x)
    low, high = np.fmin.reduce(x, axis=0), np.fmax.reduce(x, axis=0)
    fractional, fractional_at = _fractions(x, numbers, whole)
    return Chunk(
        moments=dense_moments(x - origin, weight, missing),
        low=low,
        high=high,
        fractional=fractional,
        missing_at=None if missing is None else first_cell(x, missing, numbers),
        negative_at=first_cell(x, x < 0, numbers) if (low < 0).any() else None,
        fractional_at=fractional_at,
    )


def _fractions(x: Dense, numbers: Ints, whole: Bools) -> tuple[Bools, Cell | None]:
    """Find the columns that are not whole, and the first cell that is not if all columns were whole so far."""
    fractional = ~whole
    found = None
    for part in (slice(0, _HEAD), slice(_HEAD, None)):
        columns = np.flatnonzero(~fractional)
        values = x[part] if len(columns) == x.shape[1] else x[part, columns]
        mask = (values != np.rint(values)) & ~np.isnan(values)
        if found is None and whole.all():
            found = first_cell(values, mask, numbers[part])
        fractional[columns] |= mask.any(axis=0)
    return fractional, found


def _scan_sparse(rows: Any, numbers: Ints, weight: Floats) -> Chunk:
    values: Floats = rows.data
    missing = np.isnan(values)
    fraction = (values != np.rint(values)) & ~missing
    fractional = np.zeros(rows.shape[1], dtype=bool)
    fractional[rows.indices[fraction]] = True
    low, high = sparse_range(rows)
    return Chunk(
        moments=sparse_moments(rows, weight),
        low=low,
        high=high,
        fractional=fractional,
        missing_at=first_cell(rows, missing, numbers),
        negative_at=first_cell(rows, values < 0, numbers),
        fractional_at=first_cell(rows, fraction, numbers),
    )
