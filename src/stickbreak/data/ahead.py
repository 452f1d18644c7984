"""Reading ahead, so that the next piece is read while this one is computed with."""

from __future__ import annotations

from itertools import groupby, islice
from operator import itemgetter
from threading import Thread
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence

    from stickbreak.data.base import Piece

T = TypeVar("T")


class _Reading(Generic[T]):
    """One step of an iterator, made by a thread that lives no longer than the step.

    A thread per piece costs some 50 µs where the piece takes milliseconds, and in return there is never an
    idle thread to leave behind.
    """

    def __init__(self, items: Iterator[T]) -> None:
        self._items = items
        self._found: list[T] = []
        self._error: BaseException | None = None
        self._thread = Thread(target=self._read, name="stickbreak-read-ahead", daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            self._found = list(islice(self._items, 1))
        except BaseException as error:  # noqa: BLE001  raised again where the item is asked for
            self._error = error

    def wait(self) -> None:
        self._thread.join()

    def result(self) -> list[T]:
        """Return the item in a list, or an empty list at the end."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._found


def read_ahead(items: Generator[T]) -> Generator[T]:
    """Iterate with the next item being read in the background.

    Parameters
    ----------
    items : generator
        What to read; it runs in a background thread, one step at a time.

    Yields
    ------
    object
        The items. At most two exist at once: the one handed out and the one being read.

    Examples
    --------
    >>> list(read_ahead(i * i for i in range(4)))
    [0, 1, 4, 9]
    """
    reading = _Reading(items)
    try:
        while found := reading.result():
            reading = _Reading(items)
            yield found.pop()
    finally:
        reading.wait()
        items.close()


def visit_ahead(
    pieces: Callable[[int], Iterator[Piece]], order: Sequence[int]
) -> Iterator[tuple[int, Iterator[Piece]]]:
    """Visit blocks while the next piece, of this block or the next, is read in the background.

    Parameters
    ----------
    pieces : callable
        Reads a block, given its number.
    order : sequence of int
        The blocks' numbers.

    Yields
    ------
    tuple of int and iterator of Piece
        A block's number and its pieces.
    """
    stream = read_ahead((turn, piece) for turn, b in enumerate(order) for piece in pieces(b))
    try:
        for turn, group in groupby(stream, key=itemgetter(0)):
            yield order[turn], (piece for _, piece in group)
    finally:
        stream.close()
