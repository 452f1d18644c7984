"""Rows that are in memory: arrays and CSR matrices, divided by striding."""

from __future__ import annotations

from abc import abstractmethod
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from stickbreak.data.base import (
    Partition,
    Piece,
    Source,
    check_shape,
    count_blocks,
    cut_by_bytes,
    rows_per_piece,
)
from stickbreak.data.convert import check_2d, float_dtype, to_float
from stickbreak.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scipy import sparse

    from stickbreak.core.arrays import Ints, Rows
    from stickbreak.data.encoding import Schema


class StridedSource(Source):
    """Rows of which any slice is at hand."""

    n_rows: int
    resident = True

    @abstractmethod
    def take(self, where: slice) -> Rows:
        """Return some rows, as floats."""

    @abstractmethod
    def cuts(self, where: slice) -> Ints:
        """Tell how to divide a block's rows into pieces: 0, where the next piece begins, and so on to the end."""

    def partition(self, n_blocks: int) -> Partition:
        """Divide the rows: block b of B holds the rows b, b + B, b + 2 B, ...

        Sorted data would make contiguous blocks that each hold one part of the clusters only; strided ones are
        fair samples, and for an array they are views.
        """
        return _Strided(self, count_blocks(n_blocks, self.n_rows))


class _Strided(Partition):
    def __init__(self, source: StridedSource, n_blocks: int) -> None:
        self._source = source
        self._n_blocks = n_blocks
        self.sizes = tuple(len(range(b, source.n_rows, n_blocks)) for b in range(n_blocks))

    def pieces(self, b: int) -> Iterator[Piece]:
        step, end = self._n_blocks, self._source.n_rows
        cuts = self._source.cuts(slice(b, end, step)).tolist()
        for first, last in pairwise(cuts):
            where = slice(b + first * step, min(b + last * step, end), step)
            yield Piece(self._source.take(where), where)


class ArraySource(StridedSource):
    """A 2-D array in memory.

    Parameters
    ----------
    X : ndarray, shape (n_rows, n_columns)
        The rows. Floats are handed on without a copy; other types are converted piece by piece.
    names : tuple of str, optional
        The columns' names.
    schema : Schema, optional
        How the columns become numbers, for arrays of objects or text.

    Examples
    --------
    >>> source = ArraySource(np.arange(12.0).reshape(6, 2))
    >>> [piece.rows[:, 0].tolist() for piece in source.partition(2).pieces(1)]
    [[2.0, 6.0, 10.0]]
    """

    def __init__(
        self, X: npt.NDArray[Any], *, names: tuple[str, ...] | None = None, schema: Schema | None = None
    ) -> None:
        check_2d(X.shape)
        check_shape(*X.shape)
        if schema is None:
            self._itemsize = float_dtype(X.dtype).itemsize
            self.names = names
        else:
            schema.match(None, X.shape[1])
            self._itemsize = 8
            self.names = schema.names
        self._X = X
        self._schema = schema
        self.n_rows, self.n_columns = X.shape

    def take(self, where: slice) -> Rows:
        """Return some rows, as floats."""
        if self._schema is not None:
            return self._schema.encode(self._X[where], where=where)
        return to_float(self._X[where])

    def cuts(self, where: slice) -> Ints:
        """Divide a block into pieces of as many rows each."""
        size = len(range(where.start, where.stop, where.step))
        return np.append(np.arange(0, size, rows_per_piece(self.n_columns, self._itemsize)), size)


class SparseSource(StridedSource):
    """A SciPy sparse matrix in memory.

    Parameters
    ----------
    X : sparse matrix or array, shape (n_rows, n_columns)
        The rows; any format is made CSR once.
    schema : Schema, optional
        Checked for its width; sparse columns are numbers already, so it can't have categories.

    Examples
    --------
    >>> from scipy import sparse
    >>> source = SparseSource(sparse.csr_array(np.eye(4)))
    >>> [piece.rows.indices.tolist() for piece in source.partition(2).pieces(1)]
    [[1, 3]]
    """

    def __init__(self, X: Any, *, schema: Schema | None = None) -> None:
        check_2d(X.shape)
        check_shape(*X.shape)
        float_dtype(X.dtype)
        if schema is not None:
            schema.match(None, X.shape[1])
            if "category" in schema.kinds:
                raise SchemaError(
                    "The model has columns of categories, and sparse data can't; give an array or a frame."
                )
            self.names = schema.names
        X = X.tocsr()
        if not X.has_canonical_format:
            X = X.copy()  # the caller's matrix stays as it is
            X.sum_duplicates()
        self._X = X
        self.n_rows, self.n_columns = X.shape

    def take(self, where: slice) -> Rows:
        """Return some rows, as floats."""
        rows = self._X[where]
        rows_as_float: sparse.csr_array = rows.astype(float_dtype(rows.dtype), copy=False)
        return rows_as_float

    def cuts(self, where: slice) -> Ints:
        """Divide a block where the stored values, and not the rows, fill a piece."""
        stored = np.diff(self._X.indptr)[where].astype(np.int64)
        per_value = self._X.data.itemsize + self._X.indices.itemsize
        return cut_by_bytes(stored * per_value + 8)
