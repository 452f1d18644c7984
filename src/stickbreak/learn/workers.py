"""Worker threads: rows in tasks whose bounds depend on the data alone, sums taken in the tasks' order.

The result is the same bits for any number of workers. BLAS runs single-threaded inside: threads within threads were
seen to cost ten to a hundred times on two cores. Compiled loops and BLAS let go of Python's lock, so threads are
enough.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Self, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController

from stickbreak.core.arrays import Floats, Ints, Rows
from stickbreak.core.mixture import Mixture, Posterior
from stickbreak.core.summary import Summary
from stickbreak.core.workspace import Workspace
from stickbreak.data import Piece
from stickbreak.errors import OptionError
from stickbreak.moves.gleaning import NOTHING, Gleaned, Search

T = TypeVar("T")
R = TypeVar("R")
SHARES = 16
LEAST_ROWS = 256


def count_jobs(n_jobs: int | None) -> int:
    """Number of worker threads: None means all cores, and negative numbers count back from all as in joblib."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise OptionError(f"n_jobs={n_jobs!r} must be a whole number other than 0, or None for all cores.")
    return int(n_jobs) if n_jobs > 0 else max(cores + 1 + int(n_jobs), 1)


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


class Crew:
    """A pool of worker threads, to be used as a context manager.

    Parameters
    ----------
    n_jobs : int or None
        Number of threads; None for all cores.
    """

    def __init__(self, n_jobs: int | None = None):
        self.n_jobs = count_jobs(n_jobs)
        self._local = threading.local()
        self._pool = ThreadPoolExecutor(self.n_jobs, "stickbreak") if self.n_jobs > 1 else None

    def __enter__(self) -> Self:
        self._limits = _controller().limit(limits=1)
        self._limits.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
        self._limits.__exit__(kind, error, trace)

    @property
    def workspace(self) -> Workspace:
        """Scratch arrays of the calling thread."""
        if not hasattr(self._local, "workspace"):
            self._local.workspace = Workspace()
        space: Workspace = self._local.workspace
        return space

    def in_order(self, work: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """Do tasks on the workers and yield their results in the tasks' order, starting only a few ahead."""
        if self._pool is None:
            yield from map(work, tasks)
            return
        waiting: deque[Future[R]] = deque()
        for task in tasks:
            waiting.append(self._pool.submit(work, task))
            if len(waiting) > 2 * self.n_jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def summarize(
        self,
        model: Mixture,
        pieces: Iterable[Piece],
        weights: Weights,
        posterior: Posterior,
        limit: int,
        search: Search = NOTHING,
    ) -> tuple[Summary, Gleaned]:
        """Local and summary step over a block, and what is searched for on the way."""

        def work(task: Piece) -> tuple[Summary, Gleaned]:
            rows, weight = weights.held(task)
            found, look = search.over(rows, weight, weights.numbers(task))
            return model.summarize(rows, weight, posterior, limit, self.workspace, look), found

        total = Summary.empty(posterior.ids, len(model.family.prior_natural))
        gleaned = Gleaned.nothing(search.wanted)
        # A task's result has to be added up: rows enough to make that cheap.
        least_rows = max(LEAST_ROWS, total.stats.size // 400)
        for part, found in self.in_order(work, tasks(pieces, model.tile_rows(posterior.n_clusters), least_rows)):
            total = total + part
            gleaned.add(found)
        return total, gleaned


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Weights of the rows of a data set; None weighs each row 1."""

    values: Floats | None = None

    def of(self, piece: Piece) -> Floats:
        """Weights of the rows of a piece."""
        return np.ones(piece.rows.shape[0]) if self.values is None else self.values[piece.where]

    def held(self, piece: Piece) -> tuple[Rows, Floats]:
        """Rows and weights of a piece, without the rows that weigh nothing."""
        weight = self.of(piece)
        return (piece.rows, weight) if np.all(weight > 0) else (piece.rows[weight > 0], weight[weight > 0])

    def numbers(self, piece: Piece) -> Ints:
        """Numbers in the data of the rows that `held` gives."""
        where = piece.where
        numbers = np.arange(where.start, where.stop, where.step or 1, dtype=np.int64)
        return numbers if self.values is None else numbers[self.values[where] > 0]

    def total(self, n_rows: int) -> float:
        """Weight of all rows."""
        return float(n_rows) if self.values is None else float(self.values.sum())


def tasks(pieces: Iterable[Piece], tile_rows: int, least_rows: int = LEAST_ROWS) -> Iterator[Piece]:
    """Cut pieces into tasks of about a tile, evenly and into a number that workers can share.

    Parameters
    ----------
    pieces : iterable of Piece
        The data.
    tile_rows : int
        Rows that a worker had best do at once.
    least_rows : int
        Rows below which a task is not worth its result.

    Yields
    ------
    Piece
        The tasks. They depend on the data alone, not on the workers.
    """
    for piece in pieces:
        n = piece.rows.shape[0]
        even = SHARES * -(-n // (SHARES * tile_rows))
        count = min(even, n // least_rows)
        rows = -(-n // max(count - count % 2, 1))
        start, step = piece.where.start, piece.where.step or 1
        for low in range(0, n, rows):
            high = min(low + rows, n)
            yield Piece(piece.rows[low:high], slice(start + low * step, start + (high - 1) * step + 1, step))
