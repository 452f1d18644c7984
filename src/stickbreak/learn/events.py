"""What learners keep and what they tell: a state that can be written down at any block, and events.

A learner is a generator. It yields after every block and every lap; its caller decides about stopping, progress,
checkpoints and callbacks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from stickbreak.core.arrays import Ints
from stickbreak.core.summary import Summary
from stickbreak.moves.book import Book


@dataclass(slots=True)
class RunState:
    """All that a run needs to go on from where it is.

    Parameters
    ----------
    total : Summary
        The sums that the global factors follow from.
    memos : list of Summary
        Each block's own sums (memoized runs).
    rng : numpy.random.Generator
        Source of the visiting order.
    lap : int
        Laps begun before this one.
    order : ndarray of int
        Order of the blocks in the present lap.
    position : int
        Blocks visited in the present lap; equal to the number of blocks between laps.
    exact : bool
        Whether `total` is the sum of what all blocks' rows say, so that the bound is exact.
    book : Book
        What moves remember.
    """

    total: Summary
    rng: np.random.Generator
    memos: list[Summary] = field(default_factory=list)
    lap: int = 0
    order: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    position: int = 0
    exact: bool = False
    book: Book = field(default_factory=Book)

    def begin_lap(self, n_blocks: int, *, shuffled: bool) -> bool:
        """Draw the order of a new lap, unless one is under way; tell whether it is new."""
        if self.position < len(self.order):
            return False
        self.order = self.rng.permutation(n_blocks) if shuffled else np.arange(n_blocks)
        self.position = 0
        return True

    def remaining(self) -> Ints:
        """Blocks still to be visited in this lap."""
        return self.order[self.position :]


@dataclass(frozen=True, slots=True)
class BlockDone:
    """A block was visited.

    Parameters
    ----------
    lap : int
        The lap under way, counted from 1.
    done, of : int
        Blocks visited in it, and blocks in all.
    """

    lap: int
    done: int
    of: int


@dataclass(frozen=True, slots=True)
class LapDone:
    """All blocks were visited once more.

    Parameters
    ----------
    lap : int
        Laps done.
    n_components : int
        Clusters that hold rows.
    elbo : float or None
        Bound of the whole data in nats; None where it wasn't evaluated.
    births_tried, births_kept, merges_tried, merges_kept : int
        Moves made in it; clusters dissolved for good count as merges.
    settled : bool
        Whether no move was made and none is left to try.
    """

    lap: int
    n_components: int
    elbo: float | None
    births_tried: int = 0
    births_kept: int = 0
    merges_tried: int = 0
    merges_kept: int = 0
    settled: bool = True


Event = BlockDone | LapDone
