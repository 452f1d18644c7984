"""Births and merges on the way of memoized inference (Hughes & Sudderth 2013, section 3.1 and 3.2).

A lap begins with the births that the last lap gathered rows for: fresh clusters' sums join the total, so that the
sampled rows count twice (supplement section 2.3). It ends with the sampled rows taken out again, since the total is
added up afresh from the blocks' memos, then with merges, and with a look at whether the lap's changes were worth it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stickbreak.core.arrays import Floats, Ints
from stickbreak.core.mixture import Mixture
from stickbreak.core.summary import Summary, total
from stickbreak.learn.events import LapDone, RunState
from stickbreak.learn.workers import Crew
from stickbreak.moves.birth import OneHand, create, named
from stickbreak.moves.book import Before, Birth, Book
from stickbreak.moves.gleaning import Gleaned, Search, Wanted, joined
from stickbreak.moves.merge import NO_MERGES, ROUNDING, Merges, all_pairs, candidates, choose_merges, drawn
from stickbreak.moves.options import NONE, Moves
from stickbreak.moves.seeding import Sample

EXTRA = 1.2
"""Rows are gathered with so much more than the chance that would just fill the sample."""

FLAT = 1e-3
"""The bound hardly rises any more when a lap raises it by less than so many nats a row."""


@dataclass(frozen=True, slots=True)
class Growing:
    """Changes of size, lap by lap.

    Parameters
    ----------
    model : Mixture
        What is learned.
    moves : Moves
        Which moves to make.
    crew : Crew
        Who does the work.
    """

    model: Mixture
    moves: Moves
    crew: Crew

    @property
    def _room(self) -> int:
        """Most rows of a target's sample, N'."""
        return self.moves.room(self.model.family.n_columns)

    @property
    def _most(self) -> float:
        """Number of clusters beyond which there are no births."""
        return min(self.moves.max_components or np.inf, self.model.prior.most_clusters or np.inf)

    def _may_bear(self, s: Summary) -> bool:
        """Whether births are wanted, and there is room for them."""
        return self.moves.births is not None and s.n_clusters < self._most

    def begin_lap(self, state: RunState) -> None:
        """Make births of the rows gathered in the last lap, and say what to gather in this one."""
        book, rng = state.book, state.rng
        book.next_id = max(book.next_id, int(state.total.ids.max(initial=-1)) + 1)
        if book.wanted is not None and any(book.samples):
            self._bear(state, book.wanted)
        elif book.flat and self.moves.merges is not None:
            self._dissolve(state)
        s, busy = state.total, [cluster for birth in book.births for cluster in (birth.parent, *birth.ids.tolist())]
        free = ~np.isin(s.ids, busy)
        targets = np.empty(0, np.int64)
        if self._may_bear(s):
            targets = book.choose_targets(s, free, self.moves, self.model.family.n_columns, state.lap, rng)
        book.wanted = Wanted(
            pairs=self._pairs(s, book.births, rng),
            targets=s.ids[targets],
            chance=np.minimum(EXTRA * self._room / s.counts[targets], 1.0),
            seed=rng.integers(2**63, size=len(targets)),
            threshold=self.moves.threshold,
            room=self._room,
        )
        book.samples = [[] for _ in targets]
        book.overlaps = [None] * len(state.memos)

    def search(self, state: RunState) -> Search:
        """Make ready to look for what this lap gathers."""
        if state.book.wanted is None:
            raise AssertionError("no lap is under way")
        return state.book.wanted.among(state.total.ids)

    def take(self, state: RunState, block: int, found: Gleaned) -> None:
        """Keep what was found in a block."""
        state.book.overlaps[block] = found.overlaps
        for kept, parts in zip(state.book.samples, found.samples, strict=True):
            if sum(len(part.weight) for part in kept) < self._room:
                kept.extend(parts)

    def end_lap(self, state: RunState) -> LapDone:
        """Merge, judge what the lap changed, and tell how it went."""
        book = state.book
        merges = self._merge(state)
        # Without moves an empty cluster may come to life again, as in the papers' fixed truncation.
        state.total = total(state.memos).by_size()
        if self.moves != NONE:
            state.total = state.total.without_empty()
            state.memos = [memo.only(state.total.ids) for memo in state.memos]
        bound = self.model.bound(state.total)
        lost = book.before is not None and bound - book.before.bound <= ROUNDING * abs(bound)
        back = lost and (self.moves.births == "judged" or len(book.on_trial) > 0)
        if back and book.before is not None:
            state.total, state.memos, bound = book.before.total, book.before.memos, book.before.bound
            merges = NO_MERGES
        else:
            book.near = merges.near[:, 1]
        kept = self._note_births(state, lost=lost, back=back)
        merged = len(merges.kept) + self._note_trial(state, lost=lost)
        tried, book.tried = book.tried, 0
        book.flat = book.bound is not None and bound - book.bound < FLAT * float(state.total.counts.sum())
        book.before, book.bound = None, bound
        settled = not (merged or kept or lost or self._left_to_try(state))
        return LapDone(state.lap, state.total.n_held, bound, tried, kept, merges.tried, merged, settled=settled)

    def _left_to_try(self, state: RunState) -> bool:
        book = state.book
        if any(book.samples) or (self.moves.merges is not None and self._to_dissolve(state)):
            return True
        return self._may_bear(state.total) and bool(book.eligible(state.total, self.moves).any())

    def _note_births(self, state: RunState, *, lost: bool, back: bool) -> int:
        """Remember which births came to something, and count those whose clusters stayed."""
        kept = 0
        for birth in state.book.births:
            stayed = not back and np.count_nonzero(np.isin(state.total.ids, [birth.parent, *birth.ids])) > 1
            kept += int(stayed)
            if stayed and not lost:
                state.book.succeeded(birth.parent)
            else:
                self._failed(state, birth.parent)
        state.book.births = []
        return kept

    def _note_trial(self, state: RunState, *, lost: bool) -> int:
        """Remember whether clusters on trial can be done without, and count those that can."""
        book, gone = state.book, state.book.on_trial
        book.on_trial = ()
        book.one_by_one = book.one_by_one or (lost and len(gone) > 1)
        if lost and len(gone) == 1:
            book.refused[gone[0]] = float(state.total.counts[state.total.ids == gone[0]].sum())
        return 0 if lost else len(gone)

    def _to_dissolve(self, state: RunState) -> tuple[int, ...]:
        return state.book.to_dissolve(state.total, self.model.family.n_columns)

    def _failed(self, state: RunState, cluster: int) -> None:
        mass = state.total.counts[state.total.ids == cluster]
        if len(mass):
            state.book.failed(cluster, float(mass[0]), state.lap)

    def _bear(self, state: RunState, wanted: Wanted) -> None:
        """Make births of the samples and put their clusters behind the old ones."""
        book = state.book
        mass = dict(zip(state.total.ids.tolist(), state.total.counts.tolist(), strict=True))
        work: list[tuple[int, Sample, int]] = [
            (cluster, joined(parts, wanted.room), int(state.rng.integers(2**63)))
            for cluster, parts in zip(wanted.targets.tolist(), book.samples, strict=True)
            if parts and cluster in mass
        ]
        # A worker for each sample if there are samples enough, all workers for each sample if not.
        apart = len(work) >= self.crew.n_jobs

        def made(task: tuple[int, Sample, int]) -> Summary | None:
            cluster, sample, seed = task
            hands = OneHand(self.crew.workspace) if apart else self.crew
            return create(self.model, sample, self.moves, mass[cluster], np.random.default_rng(seed), hands)

        before = _before(state)
        results = self.crew.in_order(made, work) if apart else map(made, work)
        for (cluster, _, _), fresh in zip(work, results, strict=True):
            book.tried += 1
            room = self._most - state.total.n_clusters
            if fresh is None or room < 1:
                self._failed(state, cluster)
                continue
            # Where there is no room for all, the old cluster stands for the largest of them.
            surplus = int(max(fresh.n_clusters - room, 0))
            newborn = named(fresh.by_size().take(np.arange(surplus, fresh.n_clusters)), book.next_id)
            book.next_id += newborn.n_clusters
            book.births.append(Birth(cluster, newborn.ids))
            state.total = state.total + newborn
            book.before = before

    def _dissolve(self, state: RunState) -> None:
        """Do without some clusters for a lap: their rows are summed where they go when their blocks are visited."""
        gone = self._to_dissolve(state)
        if not gone:
            state.book.one_by_one = False
            return
        state.book.before, state.book.on_trial = _before(state), gone
        left = state.total.ids[~np.isin(state.total.ids, gone)]
        state.total = state.total.only(left)
        state.memos = [memo.only(left) for memo in state.memos]

    def _pairs(self, s: Summary, births: list[Birth], rng: np.random.Generator) -> Ints:
        """Choose pairs whose merges may be made at the lap's end, by their ids."""
        if self.moves.merges is None or s.n_clusters < 2:
            return np.empty((0, 2), np.int64)
        if self.moves.merges == "drawn":
            return s.ids[drawn(self.model, s, rng)]
        if self.moves.merges == "greedy":
            return s.ids[all_pairs(s.n_clusters)]
        # What newborn clusters will be like at the lap's end is not known yet.
        related = [np.append(birth.ids, birth.parent) for birth in births]
        pairs = [s.ids[candidates(self.model, s)], *(family[all_pairs(len(family))] for family in related)]
        return np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0)

    def _merge(self, state: RunState) -> Merges:
        """Choose merges, and make them in every memo."""
        book = state.book
        if book.wanted is None or len(book.wanted.pairs) == 0:
            return NO_MERGES
        overlaps = _overlaps(book)
        # The paper's GreedyMerge asks one block only.
        asked = [int(state.order[-1])] if self.moves.merges == "greedy" else list(range(len(overlaps)))
        decides = total([state.memos[b] for b in asked]).without_empty().by_size()
        merges = choose_merges(self.model, decides, book.wanted.pairs, np.sum([overlaps[b] for b in asked], axis=0))
        if len(merges.kept):
            state.memos = [
                memo.merged(merges.kept, merges.gone, found[merges.place])
                for memo, found in zip(state.memos, overlaps, strict=True)
            ]
        return merges


def _before(state: RunState) -> Before:
    bound = state.book.bound
    return Before(state.total, list(state.memos), np.inf if bound is None else bound)


def _overlaps(book: Book) -> list[Floats]:
    """Overlaps of the wanted pairs, block by block, after a whole lap."""
    return [found for found in book.overlaps if found is not None]
