"""An estimator's options, checked before any work is spent and turned into what learners take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from stickbreak import families, priors
from stickbreak.core.allocation import AllocationPrior
from stickbreak.core.family import Family
from stickbreak.errors import InputError, OptionError, unknown_option
from stickbreak.families import Mixed
from stickbreak.learn.stochastic import LearningRate
from stickbreak.learn.workers import count_jobs
from stickbreak.moves import options, seeding
from stickbreak.moves.options import Moves
from stickbreak.priors.sticks import Concentrated

TRUNCATION = 20
"""Clusters where nobody said how many and nothing finds out."""

ALGORITHMS = ("full", "memoized", "stochastic")
PRIORS: dict[str, Callable[[float], Concentrated]] = {
    "dirichlet-process": lambda c: priors.DirichletProcess(concentration=c),
    "beta-sticks": lambda c: priors.BetaSticks(concentration=c),
    "pitman-yor": lambda c: priors.PitmanYor(concentration=c),
    "finite-dirichlet": lambda c: priors.FiniteDirichlet(concentration=c),
}

Callback = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Options:
    """Options in the form that a fit uses."""

    family: Family | Mixed
    prior: AllocationPrior
    algorithm: str
    n_components: int
    n_blocks: int | None
    max_iter: int
    tol: float
    limit: int
    rate: LearningRate
    callbacks: tuple[Callback, ...]
    moves: Moves


def read_options(estimator: Any) -> Options:
    """Check an estimator's options; an error names the option, what was found and what was expected."""
    if estimator.algorithm not in ALGORITHMS:
        raise unknown_option("algorithm", estimator.algorithm, ALGORITHMS)
    moves = read_moves(estimator.moves, estimator.algorithm)
    n_components = read_size(estimator.n_components, moves)
    count_jobs(estimator.n_jobs)
    check_init(estimator.init)
    n_blocks = None if _is(estimator.n_blocks, "auto") else whole("n_blocks", estimator.n_blocks, also=" or 'auto'")
    if estimator.algorithm == "full":
        if n_blocks not in (None, 1):
            raise OptionError(f"n_blocks={n_blocks} goes with memoized or stochastic inference; full is one block.")
        n_blocks = 1
    keep = estimator.resp_per_row
    return Options(
        family=read_family(estimator.family),
        prior=read_prior(estimator.prior, estimator.concentration, estimator.n_components or TRUNCATION),
        algorithm=estimator.algorithm,
        n_components=n_components,
        n_blocks=n_blocks,
        max_iter=whole("max_iter", estimator.max_iter),
        tol=number("tol", estimator.tol),
        limit=np.iinfo(np.int64).max if keep is None else whole("resp_per_row", keep, also=" or None"),
        rate=read_rate(estimator.learning_rate),
        callbacks=read_callbacks(estimator.callbacks),
        moves=moves,
    )


def read_family(family: Any) -> Family | Mixed:
    """Turn a family's name into a family."""
    if isinstance(family, (Family, Mixed)):
        return family
    if isinstance(family, str) and family in families.BY_NAME:
        return families.BY_NAME[family]()
    if isinstance(family, type):
        raise OptionError(f"family={family.__name__} is a class: give an object, {family.__name__}().")
    raise unknown_option("family", family, families.BY_NAME)


def read_prior(prior: Any, concentration: Any, n_components: int) -> AllocationPrior:
    """Put together the allocation prior and its concentration, which may be learned."""
    learn = _is(concentration, "learn")
    if isinstance(concentration, str) and not learn:
        raise unknown_option("concentration", concentration, ["learn"])
    if not learn and not (_is_number(concentration) and concentration > 0):
        raise OptionError(f"concentration={concentration!r} must be a positive number or 'learn'.")
    if isinstance(prior, AllocationPrior):
        if not learn and concentration != 1.0:
            raise OptionError("give the concentration to the prior object, or leave the prior to its name.")
        made = prior
    elif prior is None or (isinstance(prior, str) and prior in PRIORS):
        made = PRIORS[prior or "dirichlet-process"](1.0 if learn else float(concentration))
    else:
        raise unknown_option("prior", prior, PRIORS)
    if isinstance(made, priors.FiniteDirichlet) and made.n_components is None:
        made = replace(made, n_components=n_components)
    if not learn or isinstance(made, priors.LearnedConcentration):
        return made
    if not isinstance(made, Concentrated):
        raise OptionError(f"the concentration of {made!r} can't be learned.")
    return priors.LearnedConcentration(made)


def read_moves(given: Any, algorithm: str) -> Moves:
    """Turn a set of moves by name into options; stochastic inference has no moves."""
    if isinstance(given, str) and given == "auto":
        return options.NONE if algorithm == "stochastic" else options.BY_NAME["birth-merge"]
    if given is None:
        return options.NONE
    if isinstance(given, Moves):
        moves = given
    elif isinstance(given, str) and given in options.BY_NAME:
        moves = options.BY_NAME[given]
    else:
        raise unknown_option("moves", given, ["auto", *options.BY_NAME])
    if algorithm == "stochastic" and moves != options.NONE:
        raise OptionError("moves go with memoized or full inference: stochastic inference doesn't know the bound.")
    return moves


def read_size(n_components: Any, moves: Moves) -> int:
    """Number of clusters to begin with: one where births find the others."""
    if n_components is None:
        return TRUNCATION if moves.births is None else 1
    return whole("n_components", n_components, also=" or None")


def read_rate(rate: Any) -> LearningRate:
    """Turn a pair (delay, kappa) into step sizes."""
    if isinstance(rate, LearningRate):
        return rate
    try:
        delay, kappa = rate
        return LearningRate(float(delay), float(kappa))
    except (TypeError, ValueError) as error:
        if isinstance(error, OptionError):
            raise
        raise OptionError(f"learning_rate={rate!r} must be a pair (delay, kappa).") from None


def read_callbacks(callbacks: Any) -> tuple[Callback, ...]:
    """Turn one callback or several into a tuple."""
    if callbacks is None:
        return ()
    given = tuple(callbacks) if isinstance(callbacks, (list, tuple)) else (callbacks,)
    if not all(callable(c) for c in given):
        raise OptionError(f"callbacks={callbacks!r} must be functions of one argument, a Lap.")
    return given


def check_init(init: Any) -> None:
    """Raise an error unless `init` is a way to start."""
    if isinstance(init, str):
        if init not in seeding.BY_NAME:
            raise unknown_option("init", init, seeding.BY_NAME)
    elif not (hasattr(init, "on") or hasattr(init, "summary_")):
        if hasattr(init, "fit"):
            raise OptionError("init is a model that has not been fitted.")
        if np.ndim(init) not in (1, 2):
            raise OptionError(f"init={init!r} must be a start's name, labels, responsibilities or a fitted model.")


def read_weights(sample_weight: Any, n_rows: int) -> Any:
    """Check weights of rows."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_rows, float(sample_weight))
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n_rows,):
        raise InputError(f"sample_weight has shape {weight.shape}, but the data have {n_rows} rows.")
    wrong = ~(np.isfinite(weight) & (weight >= 0))
    if np.any(wrong):
        row = int(np.flatnonzero(wrong)[0])
        raise InputError(f"sample_weight must be finite and not negative, but row {row} has {weight[row]}.")
    if not np.any(weight > 0):
        raise InputError("sample_weight is zero for every row: there is nothing to learn from.")
    return weight


def read_seed(random_state: Any) -> np.random.Generator:
    """Turn a seed, a RandomState or a Generator into a Generator."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise OptionError(f"random_state={random_state!r} must be a whole number, None, or a generator.") from None


def whole(name: str, value: Any, *, also: str = "") -> int:
    """Check a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise OptionError(f"{name}={value!r} must be a whole number of at least 1{also}.")
    return int(value)


def number(name: str, value: Any) -> float:
    """Check a number of at least 0."""
    if not _is_number(value) or value < 0:
        raise OptionError(f"{name}={value!r} must be a number of at least 0.")
    return float(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and bool(np.isfinite(float(value)))


def _is(value: Any, word: str) -> bool:
    return isinstance(value, str) and value == word
