"""Stochastic inference (Hoffman et al. 2013; Hughes & Sudderth 2013, section 2.3).

The summary of one block, scaled up to the whole data, is blended in at the rate ``rho_t = (t + d)^-kappa``:
``S <- (1 - rho) S + rho (N / n_b) S_b``, which is the blend of natural parameters that the papers write.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stickbreak.core.mixture import Mixture, Posterior
from stickbreak.core.summary import Summary, total
from stickbreak.data import Partition
from stickbreak.errors import OptionError
from stickbreak.learn.events import BlockDone, Event, LapDone, RunState
from stickbreak.learn.workers import Crew, Weights


@dataclass(frozen=True, slots=True)
class LearningRate:
    """Step sizes ``(t + delay)^-kappa``.

    Parameters
    ----------
    delay : float
        At least 0; larger values slow the first steps.
    kappa : float
        In (0.5, 1] for convergence; 0.5 itself is allowed, as the papers use it.

    Examples
    --------
    >>> LearningRate(delay=10, kappa=0.5)(6)
    0.25
    """

    delay: float = 10.0
    kappa: float = 0.6

    def __post_init__(self) -> None:
        if not (self.delay >= 0 and 0.5 <= self.kappa <= 1):
            raise OptionError(f"learning_rate={self.delay, self.kappa}: the delay must be >= 0, kappa in [0.5, 1].")

    def __call__(self, step: int) -> float:
        """Size of a step, counted from 1."""
        return float((step + self.delay) ** -self.kappa)


def stochastic(
    model: Mixture,
    blocks: Partition,
    weights: Weights,
    crew: Crew,
    state: RunState,
    limit: int,
    rate: LearningRate,
    evaluate_every: int,
) -> Iterator[Event]:
    """Visit blocks in random order, a blended step each; every so many laps the bound is evaluated exactly.

    Parameters
    ----------
    model, blocks, weights, crew, state, limit
        As for memoized inference.
    rate : LearningRate
        Step sizes.
    evaluate_every : int
        Laps between evaluations, each of which costs as much as a lap.

    Yields
    ------
    BlockDone or LapDone
        What happened; the bound of a lap that was not evaluated is None.
    """
    n_blocks = len(blocks.sizes)
    n_rows = sum(blocks.sizes)
    whole = weights.total(n_rows)
    while True:
        state.begin_lap(n_blocks, shuffled=blocks.random_access)
        for _, pieces in blocks.visit(state.remaining().tolist()):
            part, _ = crew.summarize(model, pieces, weights, model.posterior(state.total), limit)
            rho = rate(state.lap * n_blocks + state.position + 1)
            mass = float(part.counts.sum())
            if mass > 0:
                state.total = state.total.scaled(1 - rho) + part.scaled(rho * whole / mass)
            state.position += 1
            if state.position < n_blocks:
                yield BlockDone(state.lap + 1, state.position, n_blocks)
        state.total = state.total.by_size()
        state.lap += 1
        bound = None
        if state.lap % evaluate_every == 0:
            bound = model.bound_at(
                sweep(model, blocks, weights, crew, model.posterior(state.total), limit), state.total
            )
        yield LapDone(state.lap, state.total.n_held, bound)


def sweep(model: Mixture, blocks: Partition, weights: Weights, crew: Crew, posterior: Posterior, limit: int) -> Summary:
    """Summarize all blocks under one posterior."""
    order = list(range(len(blocks.sizes)))
    parts = [crew.summarize(model, pieces, weights, posterior, limit)[0] for _, pieces in blocks.visit(order)]
    return total(parts)
