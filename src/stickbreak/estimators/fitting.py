"""From data and options to a fitted mixture: look at the data, begin, run, end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stickbreak.core.family import Family
from stickbreak.core.mixture import Mixture
from stickbreak.core.summary import Summary
from stickbreak.data import Partition, Source
from stickbreak.data.profile import Profile, profile
from stickbreak.errors import OptionError
from stickbreak.estimators.checkpoint import Checkpoint, Keeper, fingerprint
from stickbreak.estimators.history import History, Lap
from stickbreak.estimators.options import Options, read_weights
from stickbreak.estimators.progress import Watcher, watcher
from stickbreak.learn import memoized, starts, stochastic
from stickbreak.learn.events import BlockDone, Event, LapDone, RunState
from stickbreak.learn.workers import Crew, Weights
from stickbreak.moves import seeding

BLOCK_ROWS = 10_000
MAX_BLOCKS = 10
MEMO_BYTES = 256 << 20
EVALUATE_EVERY = 5


@dataclass(slots=True)
class Outcome:
    """What a run ended with.

    Parameters
    ----------
    summary : Summary
        The clusters' sums, the largest first.
    elbo : float
        Bound of the whole data; NaN if the run was interrupted before it was known.
    history : History
        The laps.
    converged : bool
        Whether the bound stopped rising.
    interrupted : str or None
        How far the run got if somebody stopped it.
    """

    summary: Summary
    elbo: float
    history: History
    converged: bool = False
    interrupted: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """Data that have been looked at, and the model that will be fitted to them."""

    source: Source
    profile: Profile
    weights: Weights
    model: Mixture
    blocks: Partition
    options: Options

    @classmethod
    def prepare(cls, source: Source, sample_weight: Any, options: Options, family: Family) -> Job:
        """Look at the data once: check them, and fill in the hyperparameters that were left to them."""
        weights = Weights()
        if sample_weight is not None:
            weights = Weights(read_weights(sample_weight, counted(source)))
        seen = profile(source, weights.values)
        family.accept(seen)
        model = Mixture(family.bind(seen), options.prior)
        return cls(source, seen, weights, model, source.partition(_n_blocks(source, model, options)), options)

    @property
    def weight(self) -> float:
        """Weight of all rows."""
        return self.weights.total(starts.known_rows(self.source))

    def start(self, init: Any, crew: Crew, rng: np.random.Generator) -> Summary:
        """Make the sums that a run begins from."""
        if isinstance(init, str):
            init = seeding.BY_NAME[init]
        if hasattr(init, "on"):
            return starts.seeded(init, self.source, self.weights, self.model, self.options.n_components, rng)
        if hasattr(init, "summary_"):
            return starts.from_summary(moved(init, self.model.family), self.model, self.weight)
        given = np.asarray(init)
        make = starts.from_labels if given.ndim == 1 else starts.from_responsibilities
        return make(given, self.source, self.weights, self.model, crew)


def counted(source: Source) -> int:
    """Number of rows, by a pass over them if need be."""
    if source.n_rows is None:
        for _ in source.pieces():
            pass
    return starts.known_rows(source)


def moved(fitted: Any, family: Family) -> Summary:
    """Take a fitted estimator's sums in a family's own coordinates."""
    s: Summary = fitted.summary_
    theirs: Family = fitted.family_
    if type(theirs) is not type(family) or theirs.n_columns != family.n_columns:
        raise OptionError(
            f"a {theirs.name} model of {theirs.n_columns} columns doesn't fit a {family.name} model of "
            f"{family.n_columns}."
        )
    return replace(s, stats=family.recentred(s.stats, fitted.family_))


def fit(
    job: Job, init: Any, rng: np.random.Generator, crew: Crew, checkpoint: Checkpoint | None, verbose: Any
) -> Outcome:
    """Run to convergence, to the last lap, or until somebody stops it."""
    identity = fingerprint(job.model, job.options, job.blocks, job.profile, job.weights.values)
    keeper = Keeper(checkpoint, identity)
    resumed = keeper.resume()
    if resumed is None:
        state, history, converged = RunState(total=job.start(init, crew, rng), rng=rng), History(), False
        if job.options.algorithm != "stochastic":
            memoized.begin(state, state.total, job.blocks)
    else:
        state, history, converged = resumed
    watch = watcher(verbose, job.weight, job.options.max_iter)
    run = _Run(job, state, history, keeper, watch, converged)
    try:
        run.go(_events(job, crew, state))
        return run.finish(crew)
    except KeyboardInterrupt:
        return run.interrupted()
    finally:
        watch.end(run.farewell())


def _events(job: Job, crew: Crew, state: RunState) -> Iterator[Event]:
    if job.options.algorithm == "stochastic":
        return stochastic.stochastic(
            job.model, job.blocks, job.weights, crew, state, job.options.limit, job.options.rate, EVALUATE_EVERY
        )
    options = job.options
    return memoized.memoized(job.model, job.blocks, job.weights, crew, state, options.limit, options.moves)


class _Run:
    """Follows a learner's events and decides what they lead to."""

    def __init__(
        self, job: Job, state: RunState, history: History, keeper: Keeper, watch: Watcher, converged: bool
    ) -> None:
        self.job, self.state, self.history, self.keeper, self.watch = job, state, history, keeper, watch
        self.converged = converged
        before = history[-1].seconds if len(history) else 0.0
        self._clock = time.monotonic() - before

    def go(self, events: Iterator[Event]) -> None:
        """Go on until the run converges, the laps are used up, or a callback says stop."""
        while not self.converged and self.state.lap < self.job.options.max_iter:
            event = next(events)
            if isinstance(event, BlockDone):
                self.watch.block(event.lap, event.done, event.of)
                if self.keeper.due(lap_done=False):
                    self.keeper.keep(self.state, self.history, converged=False)
            elif self._lap_done(event):
                break

    def _lap_done(self, event: LapDone) -> bool:
        lap = Lap(
            event.lap,
            event.n_components,
            event.elbo,
            time.monotonic() - self._clock,
            event.births_tried,
            event.births_kept,
            event.merges_tried,
            event.merges_kept,
        )
        self.converged = event.settled and self._has_converged(lap)
        self.history.append(lap)
        self.watch.lap(lap)
        if self.keeper.due(lap_done=True) or self.converged or lap.lap == self.job.options.max_iter:
            self.keeper.keep(self.state, self.history, converged=self.converged)
        answers = [callback(lap) for callback in self.job.options.callbacks]
        return any(answer is True for answer in answers)

    def _has_converged(self, lap: Lap) -> bool:
        """Gain in the bound per row and lap below the tolerance: the same question for any number of rows."""
        last = next((past for past in reversed(self.history) if past.elbo is not None), None)
        if last is None or lap.elbo is None or last.elbo is None or self.job.options.tol == 0:
            return False
        gain = (lap.elbo - last.elbo) / (lap.lap - last.lap)
        return bool(gain / self.job.weight < self.job.options.tol)

    def finish(self, crew: Crew) -> Outcome:
        """End the run; a stochastic one by one exact lap, so that model and bound belong together."""
        job, s = self.job, self.state.total
        if job.options.algorithm == "stochastic":
            posterior = job.model.posterior(s)
            s = stochastic.sweep(job.model, job.blocks, job.weights, crew, posterior, job.options.limit).by_size()
        s = s.without_empty()
        return Outcome(s, job.model.bound(s), self.history, self.converged)

    def interrupted(self) -> Outcome:
        """Keep what was learned: the memos make a valid q at any block, its bound exact once all were visited."""
        lap, at, of = self.state.lap, self.state.position, len(self.job.blocks.sizes)
        if self.job.options.algorithm == "stochastic":
            elbo = next((past.elbo for past in reversed(self.history) if past.elbo is not None), np.nan)
        else:
            exact = self.state.exact
            memoized.settle(self.job.model, self.state)
            elbo = self.job.model.bound(self.state.total) if exact else np.nan
        part = f" and {at} of {of} blocks" if 0 < at < of else ""
        told = f"interrupted after {lap} of at most {self.job.options.max_iter} laps{part}"
        return Outcome(self.state.total.without_empty(), elbo, self.history, interrupted=told)

    def farewell(self) -> str:
        """Say how the run ended."""
        how = "converged" if self.converged else "stopped"
        return f"{how} after {self.state.lap} laps with {self.state.total.n_held} clusters"


def _n_blocks(source: Source, model: Mixture, options: Options) -> int:
    """Choose the number of blocks: more of them spread news faster, but each costs a global step and a memo."""
    if options.n_blocks is not None:
        return options.n_blocks
    if source.natural_blocks is not None:
        return source.natural_blocks
    memo = 8 * options.n_components * len(model.family.prior_natural)
    by_rows = starts.known_rows(source) // max(BLOCK_ROWS, 100 * source.n_columns)
    return int(np.clip(by_rows, 1, max(1, min(MAX_BLOCKS, MEMO_BYTES // memo))))
