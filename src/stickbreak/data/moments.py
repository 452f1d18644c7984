"""Means and variances of columns, added up piece by piece without losing digits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from scipy import sparse

    from stickbreak.core.arrays import Bools, Dense, Floats, Ints


@dataclass(frozen=True, slots=True)
class Moments:
    """What some rows say about each column's mean and spread.

    Attributes
    ----------
    present : ndarray
        Weight of the cells that are there.
    mean : ndarray
        Their weighted mean; 0 where there are none.
    spread : ndarray
        Weighted sum of their squared distances from the mean.
    """

    present: Floats
    mean: Floats
    spread: Floats

    def merge(self, other: Moments) -> Moments:
        """Join with the moments of other rows, by the formula of Chan, Golub and LeVeque.

        Parameters
        ----------
        other : Moments
            Moments of the same columns.

        Returns
        -------
        Moments
            Those of all rows.

        Examples
        --------
        >>> one, two = (dense_moments(np.array([[x], [x + 1.0]]), np.ones(2)) for x in (0.0, 2.0))
        >>> one.merge(two).mean.tolist(), one.merge(two).spread.tolist()
        ([1.5], [5.0])
        """
        present = self.present + other.present
        share = ratio(other.present, present)
        apart = other.mean - self.mean
        return Moments(
            present=present,
            mean=self.mean + share * apart,
            spread=self.spread + other.spread + self.present * share * apart**2,
        )


def ratio(above: Floats, below: Floats) -> Floats:
    """Divide, with 0 where the divisor is 0."""
    return np.divide(above, below, out=np.zeros_like(below), where=below > 0)


def dense_moments(x: Dense, weight: Floats, missing: Bools | None = None) -> Moments:
    """Compute moments of dense rows.

    Parameters
    ----------
    x : ndarray, shape (n_rows, n_columns)
        The rows.
    weight : ndarray, shape (n_rows,)
        Positive weights.
    missing : ndarray of bool, optional
        Cells that are missing, if any are.

    Returns
    -------
    Moments
        The moments.
    """
    present = np.full(x.shape[1], weight.sum()) if missing is None else weight @ ~missing
    mean = ratio(weight @ (x if missing is None else np.where(missing, 0.0, x)), present)
    off = x - mean
    if missing is not None:
        off[missing] = 0.0
    # The second pass corrects the rounding of the mean, and the spread for it.
    shift = ratio(weight @ off, present)
    np.square(off, out=off)
    return Moments(present, mean + shift, np.maximum(weight @ off - present * shift**2, 0.0))


def sparse_moments(rows: sparse.csr_array | sparse.csr_matrix, weight: Floats) -> Moments:
    """Compute moments of CSR rows, in which cells that are not stored are zeros.

    Parameters
    ----------
    rows : CSR, shape (n_rows, n_columns)
        The rows.
    weight : ndarray, shape (n_rows,)
        Positive weights.

    Returns
    -------
    Moments
        The moments.
    """
    missing = np.isnan(rows.data)
    filled = np.where(missing, 0.0, rows.data)
    own = np.repeat(weight, np.diff(rows.indptr))
    there = np.where(missing, 0.0, own)
    zeros = np.where(_stored(rows) == rows.shape[0], 0.0, weight.sum() - _column_sums(rows, own))
    present = _column_sums(rows, there) + zeros
    mean = ratio(_column_sums(rows, there * filled), present)
    off = filled - mean[rows.indices]
    shift = ratio(_column_sums(rows, there * off) - zeros * mean, present)
    spread = _column_sums(rows, there * off**2) + zeros * mean**2 - present * shift**2
    return Moments(present, mean + shift, np.maximum(spread, 0.0))


def _column_sums(rows: sparse.csr_array | sparse.csr_matrix, values: Floats) -> Floats:
    """Sum values that belong to the stored cells."""
    return np.bincount(rows.indices, values, rows.shape[1]).astype(np.float64, copy=False)


def _stored(rows: sparse.csr_array | sparse.csr_matrix) -> Ints:
    return np.bincount(rows.indices, minlength=rows.shape[1])


def sparse_range(rows: sparse.csr_array | sparse.csr_matrix) -> tuple[Floats, Floats]:
    """Find the least and greatest of each column of CSR rows.

    Parameters
    ----------
    rows : CSR, shape (n_rows, n_columns)
        The rows.

    Returns
    -------
    low, high : ndarray
        NaN in a column without values.
    """
    start = np.where(_stored(rows) == rows.shape[0], np.nan, 0.0)
    low, high = start, start.copy()
    np.fmin.at(low, rows.indices, rows.data)
    np.fmax.at(high, rows.indices, rows.data)
    return low, high
