"""Which moves to make, and how."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from stickbreak.errors import OptionError, unknown_option

BIRTHS = ("judged", "accepted")
MERGES = ("ranked", "drawn", "greedy")
TARGETS = ("size-and-age", "uniform")


@dataclass(frozen=True)
class Moves:
    """Births and merges of memoized inference (Hughes & Sudderth 2013, section 3 and supplement section 2).

    Parameters
    ----------
    births : {"judged", "accepted"} or None
        "judged" takes a lap with births back, exactly, if it lost; "accepted" leaves bad births to merges, as the paper
        does; None makes no births.
    merges : {"ranked", "drawn", "greedy"} or None
        Candidates are ranked by the exact change of the bound, or drawn by the paper's eq. (12). "greedy" lets the last
        block alone decide: the paper's GreedyMerge, which ruins good clusterings, for comparison. None makes no merges.
    target : {"size-and-age", "uniform"}
        How births choose clusters: by mass times squared laps since last tried (supplement eq. 22), or at random.
    births_per_lap : int, optional
        Most births a lap. By default as many as keep creation about as cheap as the lap.
    sample_rows : int, optional
        Most rows of a target's sample, N'. By default 100 a column, at least 500 and at most 10,000.
    threshold : float
        Least responsibility of a row in a target's sample, tau.
    fresh_components : int
        Clusters that a fresh mixture begins with, K'.
    fresh_laps : int
        Most iterations of a fresh mixture, I'.
    fresh_starts : int
        Fresh mixtures that a birth is the best of; if the first finds nothing, there are no others.
    least_share : float
        Share of its sample below which a new cluster is dropped, epsilon.
    patience : int
        Births that a cluster gets without success before it is left alone until it changes.
    max_components : int, optional
        No births beyond so many clusters.

    Examples
    --------
    >>> Moves(births="accepted", births_per_lap=1).threshold
    0.1
    """

    births: str | None = "judged"
    merges: str | None = "ranked"
    target: str = "size-and-age"
    births_per_lap: int | None = None
    sample_rows: int | None = None
    threshold: float = 0.1
    fresh_components: int = 10
    fresh_laps: int = 100
    fresh_starts: int = 3
    least_share: float = 0.05
    patience: int = 1
    max_components: int | None = None

    def __post_init__(self) -> None:
        for name, known in (("births", BIRTHS), ("merges", MERGES)):
            value = getattr(self, name)
            if value is not None and value not in known:
                raise unknown_option(name, value, known)
        if self.target not in TARGETS:
            raise unknown_option("target", self.target, TARGETS)
        for name in ("births_per_lap", "sample_rows", "max_components"):
            if getattr(self, name) is not None:
                _whole(name, getattr(self, name), 1)
        _whole("fresh_components", self.fresh_components, 2)
        _whole("fresh_laps", self.fresh_laps, 1)
        _whole("fresh_starts", self.fresh_starts, 1)
        _whole("patience", self.patience, 1)
        for name in ("threshold", "least_share"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not 0 < float(value) < 1:
                raise OptionError(f"{name}={value!r} must be a number between 0 and 1.")

    def room(self, n_columns: int) -> int:
        """Most rows of a target's sample, N', for rows of so many columns."""
        if self.sample_rows is not None:
            return self.sample_rows
        return int(np.clip(100 * n_columns, 500, 10_000))


def _whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise OptionError(f"{name}={value!r} must be a whole number of at least {least}.")


NONE = Moves(births=None, merges=None)
BY_NAME: dict[str, Moves] = {
    "birth-merge": Moves(),
    "merge": Moves(births=None),
    "greedy-merge": Moves(merges="greedy"),
    "none": NONE,
}
"""Sets of moves by the names that an estimator takes."""
