"""Memoized inference (Hughes & Sudderth 2013, section 3), of which full-dataset inference is the case of one block.

Every block's summary is kept. Visiting a block takes its old summary out of the total and puts the new one in (eq. 11),
and the global factors follow at once. Before a block was first visited, its memo is its share of the start.
"""

from __future__ import annotations

from collections.abc import Iterator

from stickbreak.core.mixture import Mixture
from stickbreak.core.summary import Summary, total
from stickbreak.data import Partition
from stickbreak.learn.events import BlockDone, Event, RunState
from stickbreak.learn.growing import Growing
from stickbreak.learn.workers import Crew, Weights
from stickbreak.moves.options import NONE, Moves


def begin(state: RunState, start: Summary, blocks: Partition) -> None:
    """Give every block its share of the start, by its rows."""
    n_rows = sum(blocks.sizes)
    state.memos = [start.scaled(size / n_rows) for size in blocks.sizes]
    state.total = start


def memoized(
    model: Mixture, blocks: Partition, weights: Weights, crew: Crew, state: RunState, limit: int, moves: Moves = NONE
) -> Iterator[Event]:
    """Visit all blocks again and again, in a fresh random order each lap.

    After every lap the bound is exact and not below the last one's: each local and each global step raises it, and so
    do merges and putting the largest cluster first. Births may lower it unless they are judged.

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
    moves : Moves
        Changes of size to make on the way.

    Yields
    ------
    BlockDone or LapDone
        What happened.
    """
    n_blocks = len(blocks.sizes)
    growing = Growing(model, moves, crew)
    while True:
        if state.begin_lap(n_blocks, shuffled=blocks.random_access):
            growing.begin_lap(state)
        search = growing.search(state)
        for b, pieces in blocks.visit(state.remaining().tolist()):
            new, found = crew.summarize(model, pieces, weights, model.posterior(state.total), limit, search)
            state.total = state.total - state.memos[b] + new
            state.memos[b] = new
            growing.take(state, b, found)
            state.position += 1
            if state.position < n_blocks:
                yield BlockDone(state.lap + 1, state.position, n_blocks)
        state.lap += 1
        state.exact = True
        yield growing.end_lap(state)


def settle(model: Mixture, state: RunState) -> None:
    """Make a run that stopped in mid-lap fit to be read: its total the exact sum of the memos.

    If the lap was to show whether births or a merge pay, and they don't yet, the total is that from before them.
    """
    state.total = total(state.memos).by_size()
    before = state.book.before
    if before is not None and model.bound(state.total) < before.bound:
        state.total = before.total
