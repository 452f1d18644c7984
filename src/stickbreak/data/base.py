"""What every source of rows has in common: pieces, blocks, and their names."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from stickbreak.errors import DataError, OptionError, SchemaError, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import TracebackType

    from stickbreak.core.arrays import Ints, Rows
    from stickbreak.data.encoding import Schema

PIECE_BYTES = 32 << 20
"""How large a piece may get: small beside any machine's memory, large beside the cost of a call."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows that are in memory at once.

    Attributes
    ----------
    rows : ndarray or CSR
        The rows: float32 or float64, of any strides; NaN marks a missing cell.
    where : slice
        The rows' numbers in the whole data: start, stop and step.

    Examples
    --------
    >>> piece = Piece(np.ones((2, 3)), slice(1, 5, 2))
    >>> list(range(10))[piece.where]
    [1, 3]
    """

    rows: Rows
    where: slice


class Partition(ABC):
    """Rows divided into fixed blocks.

    A block is what memoized inference keeps a summary of. It is handed out as one or more pieces, so that a
    block may be larger than memory.

    Attributes
    ----------
    sizes : tuple of int
        How many rows each block has.
    random_access : bool
        Whether blocks can be visited in any order.
    """

    sizes: tuple[int, ...]
    random_access: bool = True

    @abstractmethod
    def pieces(self, b: int) -> Iterator[Piece]:
        """Read one block.

        Parameters
        ----------
        b : int
            The block's number.

        Yields
        ------
        Piece
            Consecutive parts of the block.
        """

    def visit(self, order: Sequence[int]) -> Iterator[tuple[int, Iterator[Piece]]]:
        """Read several blocks.

        Parameters
        ----------
        order : sequence of int
            Numbers of the blocks. Without random access they are visited in ascending order instead.

        Yields
        ------
        tuple of int and iterator of Piece
            A block's number, and its pieces; what is left of them is skipped when the next block is asked for.
        """
        for b in order:
            yield b, self.pieces(b)


class Source(ABC):
    """Where rows come from.

    A source can be read any number of times and never holds more than a few pieces, unless the data were in
    memory to begin with. It is a context manager; leaving it closes it.

    Attributes
    ----------
    names : tuple of str or None
        The columns' names, when the data have them.
    n_columns : int
        How many columns there are.
    n_rows : int or None
        How many rows there are; None as long as an iterable of blocks has not been read to its end.
    resident : bool
        Whether the data are held in memory as one array or frame.
    natural_blocks : int or None
        How many blocks an iterable of blocks gives, once that is known; None for data that come in no blocks.
    schema : Schema or None
        How the columns become numbers, where they are not numbers already.
    """

    schema: Schema | None = None
    names: tuple[str, ...] | None = None
    n_columns: int
    n_rows: int | None
    resident: bool = False
    natural_blocks: int | None = None

    @abstractmethod
    def partition(self, n_blocks: int) -> Partition:
        """Divide the rows into blocks of nearly equal size.

        Parameters
        ----------
        n_blocks : int
            How many blocks to make. Fewer are made where the data can't be divided so finely.

        Returns
        -------
        Partition
            The blocks.
        """

    def pieces(self) -> Iterator[Piece]:
        """Read all rows once, in order.

        Yields
        ------
        Piece
            Consecutive rows, about 32 MiB at a time.
        """
        for _, pieces in self.partition(1).visit([0]):
            yield from pieces

    def close(self) -> None:
        """Remove what was stored temporarily. The source can't be read afterwards."""
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def rows_per_piece(n_columns: int, itemsize: int = 8) -> int:
    """Count the rows that make up a piece.

    Parameters
    ----------
    n_columns : int
        How many columns a row has.
    itemsize : int, default=8
        Bytes per cell.

    Returns
    -------
    int
        At least 1.

    Examples
    --------
    >>> rows_per_piece(64)
    65536
    """
    return max(1, PIECE_BYTES // (itemsize * n_columns))


def cut_by_bytes(sizes: Ints) -> Ints:
    """Divide rows of unequal size into pieces.

    Parameters
    ----------
    sizes : ndarray of int64
        Bytes of each row.

    Returns
    -------
    ndarray of int64
        0, where the second piece begins, and so on, and at last the number of rows.

    Examples
    --------
    >>> cut_by_bytes(np.array([PIECE_BYTES // 2, PIECE_BYTES // 2, 1, 1])).tolist()
    [0, 1, 4]
    """
    filled = np.cumsum(sizes) // PIECE_BYTES
    starts = np.flatnonzero(np.diff(filled, prepend=0))
    return np.unique(np.concatenate([[0], starts, [len(sizes)]])).astype(np.int64)


def split_evenly(n: int, parts: int) -> Ints:
    """Divide a range into consecutive parts whose sizes differ by at most one.

    Parameters
    ----------
    n : int
        Length of the range.
    parts : int
        How many parts to make.

    Returns
    -------
    ndarray of int64, shape (parts + 1,)
        Where the parts begin, and at last `n`.

    Examples
    --------
    >>> split_evenly(10, 3).tolist()
    [0, 3, 6, 10]
    """
    return np.arange(parts + 1, dtype=np.int64) * n // parts


def count_blocks(n_blocks: int, most: int) -> int:
    """Check a number of blocks, and cap it at what is possible."""
    if n_blocks < 1:
        raise OptionError(f"n_blocks={n_blocks} is out of range; at least one block is needed.")
    return min(n_blocks, most)


def check_shape(n_rows: int, n_columns: int) -> None:
    """Refuse data without rows or columns, in scikit-learn's words."""
    for size, what in ((n_rows, "sample"), (n_columns, "feature")):
        if size == 0:
            raise DataError(
                f"Found array with 0 {what}(s) (shape=({n_rows}, {n_columns})) while a minimum of 1 is required."
            )


def check_names(names: Sequence[object], where: str = "the data") -> tuple[str, ...] | None:
    """Return columns' names when all are strings, and refuse a name that stands twice."""
    if not all(isinstance(name, str) for name in names):
        return None
    seen: set[object] = set()
    for name in names:
        if name in seen:
            raise SchemaError(f"In {where} two columns are named {name!r}; rename one of them.")
        seen.add(name)
    return tuple(str(name) for name in names)


def pick_columns(
    names: Sequence[str] | None, columns: Sequence[str] | None, where: str = "the data"
) -> list[int] | None:
    """Find the positions of chosen columns; None when nothing was chosen."""
    if columns is None:
        return None
    if isinstance(columns, str) or len(columns) == 0:
        raise OptionError(f"columns={columns!r} must be a list of at least one column's name.")
    if names is None:
        raise OptionError(f"columns={list(columns)!r} picks columns by name, and {where} has none.")
    for name in columns:
        if name not in names:
            raise OptionError(f"columns: there is no column {name!r} in {where}.{did_you_mean(str(name), names)}")
    check_names(columns, "columns=")
    return [names.index(name) for name in columns]


def column_label(names: Sequence[str] | None, column: int) -> str:
    """Name a column in a message, by number and, if it has one, by name."""
    return f"column {column}" if names is None else f"column {column} ({names[column]!r})"
