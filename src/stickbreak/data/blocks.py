"""Rows that come in the user's own blocks: a list of arrays, or an iterable that is read several times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from stickbreak.data.base import Partition, Piece, Source, count_blocks, split_evenly
from stickbreak.data.resident import SparseSource
from stickbreak.errors import DataError, SchemaError

if TYPE_CHECKING:
    from stickbreak.core.arrays import Ints

Opener = Callable[[Any], Source]


def _is_empty(block: Any) -> bool:
    shape = getattr(block, "shape", None)
    return shape is not None and len(shape) == 2 and shape[0] == 0


def _check_alike(first: Source, block: Source, number: int) -> None:
    if block.n_columns != first.n_columns:
        raise SchemaError(
            f"Block {number} has {block.n_columns} columns, and the first block has {first.n_columns}; "
            "all blocks must have the same columns."
        )
    if block.names != first.names:
        raise SchemaError(f"Block {number} has columns {block.names}, and the first block has {first.names}.")
    if isinstance(block, SparseSource) != isinstance(first, SparseSource):
        raise SchemaError(f"Block {number} and the first block are not both sparse; make all blocks of one kind.")


def _shifted(block: Source, offset: int) -> Iterator[Piece]:
    for piece in block.pieces():
        where = piece.where
        yield Piece(piece.rows, slice(where.start + offset, where.stop + offset, where.step))


class BlockListSource(Source):
    """A list of blocks, each of which can be read at any time.

    Parameters
    ----------
    blocks : sequence
        2-D arrays, sparse matrices, frames or paths. Blocks without rows are left out.
    open_block : callable
        Makes a source of a block.
    """

    n_rows: int
    natural_blocks: int

    def __init__(self, blocks: Sequence[Any], open_block: Opener) -> None:
        filled = [block for block in blocks if not _is_empty(block)] or list(blocks[:1])
        self._blocks = [open_block(block) for block in filled]
        first = self._blocks[0]
        for number, block in enumerate(self._blocks):
            _check_alike(first, block, number)
        self.names = first.names
        self.n_columns = first.n_columns
        self.offsets = np.cumsum([0, *(block.n_rows or 0 for block in self._blocks)]).tolist()
        self.n_rows = self.offsets[-1]
        self.natural_blocks = len(self._blocks)

    def partition(self, n_blocks: int) -> Partition:
        """Group consecutive blocks; a single one is not divided."""
        groups = split_evenly(self.natural_blocks, count_blocks(n_blocks, self.natural_blocks))
        return _Grouped(self, groups)

    def pieces_of(self, number: int) -> Iterator[Piece]:
        """Read one of the user's blocks."""
        return _shifted(self._blocks[number], self.offsets[number])

    def close(self) -> None:
        """Close the blocks."""
        for block in self._blocks:
            block.close()


class _Grouped(Partition):
    def __init__(self, source: BlockListSource, groups: Ints) -> None:
        self._source = source
        self._groups = groups.tolist()
        self.sizes = tuple(np.diff(np.asarray(source.offsets)[groups]).tolist())

    def pieces(self, b: int) -> Iterator[Piece]:
        for number in range(*self._groups[b : b + 2]):
            yield from self._source.pieces_of(number)


class IterableSource(Source):
    """An object that gives blocks each time it is iterated over; they can only be read in its own order.

    Parameters
    ----------
    blocks : iterable
        Gives 2-D arrays, sparse matrices or frames. Blocks without rows are left out.
    open_block : callable
        Makes a source of a block.
    """

    def __init__(self, blocks: Iterable[Any], open_block: Opener) -> None:
        self._given = blocks
        self._open_block = open_block
        self._sizes: tuple[int, ...] | None = None
        self.n_rows = None
        self._first: Source | None = None
        self._first = next(self.blocks(), None)
        if self._first is None:
            raise DataError(
                "The iterable gave no blocks with rows: found 0 sample(s) while a minimum of 1 is required."
            )
        self.names = self._first.names
        self.n_columns = self._first.n_columns

    def blocks(self) -> Iterator[Source]:
        """Iterate over the user's blocks once, checking that they are those of the first pass."""
        sizes: list[int] = []
        for number, given in enumerate(self._given):
            if _is_empty(given):
                continue
            block = self._open_block(given)
            if self._first is not None:
                _check_alike(self._first, block, number)
            sizes.append(block.n_rows or 0)
            if self._sizes is not None and tuple(sizes) != self._sizes[: len(sizes)]:
                raise self._changed(f"block {number} had {self._size_before(len(sizes))} and now has {sizes[-1]}")
            yield block
        if self._sizes is None:
            self._sizes = tuple(sizes)
            self.n_rows, self.natural_blocks = sum(sizes), len(sizes)
        elif len(sizes) < len(self._sizes):
            raise self._changed(
                f"the {len(self._sizes)} blocks had {self.n_rows}, and now {len(sizes)} gave {sum(sizes)}"
            )

    def _size_before(self, count: int) -> int:
        sizes = self._sizes or ()
        return sizes[count - 1] if count <= len(sizes) else 0

    def _changed(self, what: str) -> DataError:
        return DataError(
            f"The iterable gave another number of rows than in an earlier pass: {what}. "
            "It must give the same blocks every time."
        )

    def pieces(self) -> Iterator[Piece]:
        """Read all rows once; the first such pass also counts them."""
        for _, piece in self.numbered():
            yield piece

    def numbered(self) -> Iterator[tuple[int, Piece]]:
        """Read all rows once, each piece with the number of the user's block it is from."""
        offset = 0
        for number, block in enumerate(self.blocks()):
            for piece in _shifted(block, offset):
                yield number, piece
            offset += block.n_rows or 0

    def partition(self, n_blocks: int) -> Partition:
        """Group consecutive blocks, after a pass to count them if there was none."""
        if self._sizes is None:
            for _ in self.blocks():
                pass
        sizes = self._sizes or ()
        return _Sequential(self, sizes, split_evenly(len(sizes), count_blocks(n_blocks, len(sizes))))


class _Sequential(Partition):
    """Consecutive blocks of an iterable.

    There is no reading ahead here: the iterable is the user's code, which may not bear being run in a thread.
    """

    random_access = False

    def __init__(self, source: IterableSource, sizes: Sequence[int], groups: Ints) -> None:
        self._source = source
        offsets = np.cumsum([0, *sizes])[groups]
        self.sizes = tuple(np.diff(offsets).tolist())
        self._group_of = np.repeat(np.arange(len(groups) - 1), np.diff(groups)).tolist()

    def pieces(self, b: int) -> Iterator[Piece]:
        for _, pieces in self.visit([b]):
            yield from pieces

    def visit(self, order: Sequence[int]) -> Iterator[tuple[int, Iterator[Piece]]]:
        wanted = set(order)
        numbered = ((self._group_of[number], piece) for number, piece in self._source.numbered())
        for b, group in groupby(numbered, key=itemgetter(0)):
            if b in wanted:
                yield b, (piece for _, piece in group)
