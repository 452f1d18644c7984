"""Rows that are read in consecutive ranges: memory-mapped arrays and files."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from stickbreak.data.ahead import visit_ahead
from stickbreak.data.base import Partition, Piece, Source, count_blocks, rows_per_piece, split_evenly
from stickbreak.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from stickbreak.core.arrays import Dense, Ints


class RangeSource(Source):
    """Rows of which any range can be read.

    Attributes
    ----------
    label : str
        What to call the source in a message.
    dtype : dtype
        Type of the rows: float32 or float64.
    starts : ndarray of int64 or None
        Rows at which a block can begin, 0 first; None when it can begin anywhere.
    """

    label: str
    n_rows: int
    dtype: np.dtype[np.floating[Any]]
    starts: Ints | None = None

    @abstractmethod
    def read(self, start: int, stop: int) -> Iterator[Dense]:
        """Read the rows from `start` up to `stop`, a piece or less at a time."""

    @property
    def rows_per_piece(self) -> int:
        """How many rows a piece has."""
        return rows_per_piece(self.n_columns, self.dtype.itemsize)

    def partition(self, n_blocks: int) -> Partition:
        """Divide the rows into consecutive ranges."""
        return _Ranges(self, self._bounds(n_blocks))

    def _bounds(self, n_blocks: int) -> Ints:
        if self.starts is None:
            return split_evenly(self.n_rows, count_blocks(n_blocks, self.n_rows))
        even = split_evenly(self.n_rows, count_blocks(n_blocks, len(self.starts)))
        possible = np.append(self.starts, self.n_rows)
        after = np.clip(np.searchsorted(possible, even), 1, len(possible) - 1)
        nearer_before = even - possible[after - 1] < possible[after] - even
        # Where row groups are of unequal size two bounds can fall together; then there is a block less.
        return np.unique(np.concatenate([[0], possible[after - nearer_before][1:]]))


class _Ranges(Partition):
    def __init__(self, source: RangeSource, bounds: Ints) -> None:
        self._source = source
        self._bounds: list[int] = bounds.tolist()
        self.sizes = tuple(np.diff(bounds).tolist())

    def pieces(self, b: int) -> Iterator[Piece]:
        row, stop = self._bounds[b : b + 2]
        for rows in _gather(self._source.read(row, stop), self._source.rows_per_piece):
            yield Piece(rows, slice(row, row + len(rows), 1))
            row += len(rows)

    def visit(self, order: Sequence[int]) -> Iterator[tuple[int, Iterator[Piece]]]:
        return visit_ahead(self.pieces, order)


def _gather(arrays: Iterable[Dense], most: int) -> Iterator[Dense]:
    """Join small arrays, so that small row groups or files do not make small pieces."""
    waiting: list[Dense] = []
    for array in arrays:
        n_waiting = sum(map(len, waiting))
        if waiting and n_waiting + len(array) > most:
            yield _joined(waiting)
        waiting.append(array)
        if 2 * (n_waiting + len(array)) > most:  # no need to read on only to see what follows
            yield _joined(waiting)
    if waiting:
        yield _joined(waiting)


def _joined(waiting: list[Dense]) -> Dense:
    """Join arrays, and let go of them."""
    array = waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
    waiting.clear()
    return array


class JoinedSource(RangeSource):
    """Several sources, one after the other: the files of a folder.

    Parameters
    ----------
    parts : sequence of RangeSource
        The sources, with the same columns.
    label : str
        What to call them together.
    """

    def __init__(self, parts: Sequence[RangeSource], label: str) -> None:
        first = parts[0]
        for part in parts[1:]:
            if part.n_columns != first.n_columns:
                raise SchemaError(
                    f"{part.label} has {part.n_columns} columns, and {first.label} has {first.n_columns}; "
                    f"all files in {label} must have the same columns."
                )
        self.label = label
        self.names = first.names
        self.n_columns = first.n_columns
        self.dtype = np.result_type(*(part.dtype for part in parts))
        self._parts = tuple(parts)
        self._offsets = np.cumsum([0, *(part.n_rows for part in parts)])
        self.n_rows = int(self._offsets[-1])
        if any(part.starts is not None for part in parts):
            self.starts = np.concatenate(
                [offset + _starts(part) for offset, part in zip(self._offsets[:-1], parts, strict=True)]
            )

    def read(self, start: int, stop: int) -> Iterator[Dense]:
        """Read a range of rows, from as many parts as it spans."""
        for offset, part in zip(self._offsets[:-1].tolist(), self._parts, strict=True):
            low, high = max(start - offset, 0), min(stop - offset, part.n_rows)
            if low < high:
                for rows in part.read(low, high):
                    yield rows.astype(self.dtype, copy=False)

    def close(self) -> None:
        """Close all parts."""
        for part in self._parts:
            part.close()


def _starts(part: RangeSource) -> Ints:
    return np.zeros(1, dtype=np.int64) if part.starts is None else part.starts
