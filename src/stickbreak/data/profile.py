"""One look at all the data before work begins: what priors are scaled by, and what checks need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stickbreak.data.base import Source, column_label
from stickbreak.data.moments import Moments, ratio
from stickbreak.data.scan import Cell, Chunk, chunks, infinite_cell, origin_of, scan
from stickbreak.errors import DataError, InputError

if TYPE_CHECKING:
    from stickbreak.core.arrays import Bools, Floats, Rows


@dataclass(frozen=True)
class Profile:
    """What the data are like, column by column.

    Missing cells and rows of weight 0 count in none of the statistics. In sparse data the cells that are not
    stored are zeros like any others.

    Attributes
    ----------
    n_rows : int
        How many rows there are.
    weight : float
        Sum of the sample weights.
    names : tuple of str or None
        The columns' names.
    mean, variance, mean_square, low, high : ndarray of float64, shape (n_columns,)
        Weighted statistics; the variance is divided by the weight. NaN in a column without values.
    present : ndarray of float64, shape (n_columns,)
        Weight of the cells that are there.
    whole : ndarray of bool, shape (n_columns,)
        Whether all values are whole numbers.
    row_total : float
        Weighted mean of the rows' sums.
    missing_at, negative_at, fractional_at : tuple of int, or None
        Row and column of the first cell that is missing, negative, or not whole.
    sparse : bool
        Whether the data are sparse.
    dtype_is_float32 : bool
        Whether the data are in single precision.
    """

    n_rows: int
    weight: float
    names: tuple[str, ...] | None
    mean: Floats
    variance: Floats
    mean_square: Floats
    low: Floats
    high: Floats
    present: Floats
    whole: Bools
    row_total: float
    missing_at: Cell | None
    negative_at: Cell | None
    fractional_at: Cell | None
    sparse: bool
    dtype_is_float32: bool

    def label(self, column: int) -> str:
        """Name a column for a message.

        Parameters
        ----------
        column : int
            The column's number.

        Returns
        -------
        str
            Such as "column 3" or "column 3 ('age')".
        """
        return column_label(self.names, column)


def profile(source: Source, sample_weight: Floats | None = None) -> Profile:
    """Read all rows once and compute their profile.

    Parameters
    ----------
    source : Source
        The data.
    sample_weight : ndarray of float64, shape (n_rows,), optional
        Weights of the rows, none negative. A weight of 2 is as good as the row twice.

    Returns
    -------
    Profile
        What the data are like.

    Raises
    ------
    DataError
        If a cell is infinite.

    Examples
    --------
    >>> from stickbreak.data import open_source
    >>> found = profile(open_source(np.array([[1.0, 2.0], [3.0, np.nan]])))
    >>> found.mean.tolist(), found.missing_at, found.whole.tolist()
    ([2.0, 2.0], (1, 1), [True, True])
    """
    weight = None if sample_weight is None else _checked(sample_weight, source.n_rows)
    scan = _Scan(source)
    for piece in source.pieces():
        scan.add(piece.rows, piece.where.start, weight)
    if weight is not None and len(weight) != scan.n_rows:
        raise _wrong_length(len(weight), scan.n_rows)
    return scan.finish()


def _checked(weight: Floats, n_rows: int | None) -> Floats:
    weight = np.asarray(weight, dtype=np.float64)
    if weight.ndim != 1:
        raise InputError(f"sample_weight must be 1-D, with one weight per row; its shape is {weight.shape}.")
    if n_rows is not None and len(weight) != n_rows:
        raise _wrong_length(len(weight), n_rows)
    bad = ~(weight >= 0) | np.isinf(weight)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"sample_weight[{row}] is {weight[row]}; weights must be finite and not negative.")
    if not weight.any():
        raise InputError("sample_weight is 0 for all rows; at least one row must count.")
    return weight


def _wrong_length(given: int, n_rows: int) -> InputError:
    return InputError(f"sample_weight has {given} weights, and the data have {n_rows} rows.")


class _Scan:
    """Adds up the profile, chunk by chunk."""

    def __init__(self, source: Source) -> None:
        self._names = source.names
        self._origin: Floats | None = None
        n = source.n_columns
        self._moments = Moments(np.zeros(n), np.zeros(n), np.zeros(n))
        self._low, self._high = np.full(n, np.nan), np.full(n, np.nan)
        self._whole = np.ones(n, dtype=bool)
        self._missing_at: Cell | None = None
        self._negative_at: Cell | None = None
        self._fractional_at: Cell | None = None
        self._sparse = False
        self._single = True
        self._weight = 0.0
        self.n_rows = 0

    def add(self, piece: Rows, start: int, weight: Floats | None) -> None:
        n = piece.shape[0]
        if weight is not None and len(weight) < start + n:
            raise _wrong_length(len(weight), start + n)
        self.n_rows += n
        self._single &= piece.dtype == np.float32
        self._sparse |= not isinstance(piece, np.ndarray)
        # Squares of huge values overflow; `finish` then names the column, which a warning from NumPy would not.
        with np.errstate(over="ignore", invalid="ignore"):
            for rows, row in chunks(piece, start):
                own = np.ones(rows.shape[0]) if weight is None else weight[row : row + rows.shape[0]]
                self._add_chunk(rows, row, own)

    def _add_chunk(self, rows: Rows, start: int, weight: Floats) -> None:
        infinite = infinite_cell(rows, start)
        if infinite is not None:
            row, column = infinite
            raise DataError(
                f"The data contain infinity in row {row}, {column_label(self._names, column)}; replace it by a number, "
                "or by NaN to mark the cell as missing.",
                row=row,
                column=column,
            )
        numbers = start + np.arange(rows.shape[0])
        counts = weight > 0
        if not counts.all():
            rows, numbers, weight = rows[counts], numbers[counts], weight[counts]
        if len(numbers) == 0:
            return
        if self._origin is None:
            self._origin = origin_of(rows, weight)
        self._weight += float(weight.sum())
        self._note(scan(rows, numbers, weight, self._origin, self._whole))

    def _note(self, chunk: Chunk) -> None:
        self._moments = self._moments.merge(chunk.moments)
        self._low = np.fmin(self._low, chunk.low)
        self._high = np.fmax(self._high, chunk.high)
        self._whole &= ~chunk.fractional
        self._missing_at = self._missing_at or chunk.missing_at
        self._negative_at = self._negative_at or chunk.negative_at
        self._fractional_at = self._fractional_at or chunk.fractional_at

    def finish(self) -> Profile:
        present = self._moments.present
        there = present > 0
        with np.errstate(over="ignore", invalid="ignore"):
            mean = np.where(there, self._moments.mean + (0.0 if self._origin is None else self._origin), np.nan)
            variance = np.where(there, ratio(self._moments.spread, present), np.nan)
            mean_square = variance + mean**2
        self._check_size(there & ~np.isfinite(mean_square))
        return Profile(
            n_rows=self.n_rows,
            weight=self._weight,
            names=self._names,
            mean=mean,
            variance=variance,
            mean_square=mean_square,
            low=self._low,
            high=self._high,
            present=present,
            whole=self._whole,
            row_total=float(present[there] @ mean[there]) / self._weight,
            missing_at=self._missing_at,
            negative_at=self._negative_at,
            fractional_at=self._fractional_at,
            sparse=self._sparse,
            dtype_is_float32=self._single,
        )

    def _check_size(self, overflowing: Bools) -> None:
        if overflowing.any():
            column = int(np.argmax(overflowing))
            raise DataError(
                f"The values of {column_label(self._names, column)} are too large: they go from "
                f"{self._low[column]:g} to {self._high[column]:g}, and their squares overflow. "
                "Divide the column by a constant.",
                column=column,
            )
