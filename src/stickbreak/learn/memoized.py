"""Memoized inference (Hughes & Sudderth 2013, section 3), of which full-dataset inference is the case of one block.

Every block's summary is kept. Visiting a block takes its old summary out of the total and puts the new one in (eq. 11),
and the global factors follow at once. Before a block was first visited, its memo is its share of the start.
"""

from __future__ import annotations

from collections.abc import Iterator

from stickbreak.core.mixture import Mixture
from stickbreak.core.summary import Summary, total
from stickbreak.data import Partition
from stickbreak.learn.events import BlockDone, Event, LapDone, RunState
from stickbreak.learn.workers import Crew, Weights


def begin(state: RunState, start: Summary, blocks: Partition) -> None:
    """Give every block its share of the start, by its rows."""
    n_rows = sum(blocks.sizes)
    state.memos = [start.scaled(size / n_rows) for size in blocks.sizes]
    state.total = start


def memoized(
    model: Mixture, blocks: Partition, weights: Weights, crew: Crew, state: RunState, limit: int
) -> Iterator[Event]:
    """Visit all blocks again and again, in a fresh random order each lap.

    After every lap the bound is exact and not below the last one's: each local and each global step raises it, and so
    does putting the largest cluster first.

    Parameters
    ----------
    model : Mixture
        What is learned.
    blocks : Partition
        The data.
    weights : Weights
        Weights of the rows.
    crew : Crew
        Who does the work.
    state : RunState
        Changed in place, always fit to be written down when an event is yielded.
    limit : int
        Largest number of responsibilities kept of each row.

    Yields
    ------
    BlockDone or LapDone
        What happened.
    """
    n_blocks = len(blocks.sizes)
    while True:
        state.begin_lap(n_blocks, shuffled=blocks.random_access)
        for b, pieces in blocks.visit(state.remaining().tolist()):
            new = crew.summarize(model, pieces, weights, model.posterior(state.total), limit)
            state.total = state.total - state.memos[b] + new
            state.memos[b] = new
            state.position += 1
            if state.position < n_blocks:
                yield BlockDone(state.lap + 1, state.position, n_blocks)
        # Added afresh every lap: thousands of subtractions would drift.
        settle(state)
        state.lap += 1
        yield LapDone(state.lap, state.total.n_held, model.bound(state.total))


def settle(state: RunState) -> None:
    """Make the total the exact sum of the memos, the largest cluster first."""
    state.total = total(state.memos).by_size()
    state.exact = True
