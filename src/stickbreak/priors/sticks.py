r"""Stick-breaking priors in their nested truncation (Hughes & Sudderth 2013, eq. 1 and 4 to 10).

``w_k = v_k prod_{l<k} (1 - v_l)`` with ``v_k ~ Beta(a_k, b_k)``. With ``N_{>k}`` the mass behind stick k,
``q(v_k) = Beta(a_k + N_k, b_k + N_{>k})`` is optimal, and at the optimum all of its terms of the bound are

    sum_k log B(a_k + N_k, b_k + N_{>k}) - log B(a_k, b_k),

which is zero for sticks with nothing on or behind them: the truncation is nested. Sticks beyond K keep their prior.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from scipy.special import betaln, digamma

from stickbreak.core.allocation import AllocationPrior
from stickbreak.core.arrays import Floats
from stickbreak.errors import OptionError


def require_positive(name: str, value: float) -> None:
    """Raise an error that names a value which isn't a positive finite number."""
    if not isinstance(value, Real) or not np.isfinite(float(value)) or value <= 0:
        raise OptionError(f"{name}={value!r} must be a positive number.")


class Concentrated(AllocationPrior):
    """A prior with a concentration, computed for many values of it at once so that it can be learned.

    The ``*_at`` methods take A concentrations and return a leading axis of length A.
    """

    concentration: float

    @abstractmethod
    def evidence_at(self, concentration: Floats, counts: Floats) -> Floats:
        """Evidence for each concentration, of shape (A,)."""

    @abstractmethod
    def expected_log_weights_at(self, concentration: Floats, counts: Floats) -> Floats:
        """Expected log weights for each concentration, of shape (A, K)."""

    @abstractmethod
    def shares_at(self, concentration: Floats, counts: Floats) -> Floats:
        """Expected shares for each concentration, of shape (A, K + 1)."""

    def evidence(self, counts: Floats) -> float:
        """Terms of the bound that concern the shares, at their optimum."""
        return float(self.evidence_at(np.array([self.concentration]), counts)[0])

    def expected_log_weights(self, counts: Floats) -> Floats:
        """``E[log w_k]`` of each cluster."""
        return np.asarray(self.expected_log_weights_at(np.array([self.concentration]), counts)[0])

    def shares(self, counts: Floats) -> Floats:
        """``E[w_k]`` of each cluster and, last, of all clusters not yet seen."""
        return np.asarray(self.shares_at(np.array([self.concentration]), counts)[0])


class StickBreaking(Concentrated):
    """Sticks ``v_k ~ Beta(a_k, b_k)``; a subclass says what ``a_k`` and ``b_k`` are."""

    @abstractmethod
    def sticks(self, concentration: Floats, n: int) -> tuple[Floats, Floats]:
        """Prior parameters of the first n sticks for each concentration, each of shape (A, n) or (A, 1)."""

    def _factors(self, concentration: Floats, counts: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        a, b = self.sticks(concentration, len(counts))
        # Added up from the small end, as the tail's mass must not be the difference of two large sums.
        behind = np.append(np.cumsum(counts[::-1])[::-1][1:], 0.0)
        return a, b, a + counts, b + behind

    def evidence_at(self, concentration: Floats, counts: Floats) -> Floats:
        """Evidence for each concentration."""
        a, b, post_a, post_b = self._factors(concentration, counts)
        return np.asarray(np.sum(betaln(post_a, post_b) - betaln(a, b), axis=1))

    def expected_log_weights_at(self, concentration: Floats, counts: Floats) -> Floats:
        """Expected log weights (supplement eq. 15 and 16)."""
        _, _, post_a, post_b = self._factors(concentration, counts)
        whole = digamma(post_a + post_b)
        log_v, log_rest = digamma(post_a) - whole, digamma(post_b) - whole
        return np.asarray(log_v + np.cumsum(log_rest, axis=1) - log_rest)

    def shares_at(self, concentration: Floats, counts: Floats) -> Floats:
        """Expected shares: sticks are independent under q, so expectations multiply."""
        _, _, post_a, post_b = self._factors(concentration, counts)
        v = post_a / (post_a + post_b)
        rest = np.cumprod(1 - v, axis=1)
        before = np.concatenate([np.ones((len(v), 1)), rest[:, :-1]], axis=1)
        return np.concatenate([v * before, rest[:, -1:]], axis=1)


@dataclass(frozen=True)
class DirichletProcess(StickBreaking):
    """Dirichlet process: ``v_k ~ Beta(1, concentration)``.

    Parameters
    ----------
    concentration : float
        Expected readiness for new clusters, alpha.

    Examples
    --------
    >>> import numpy as np
    >>> DirichletProcess(concentration=1.0).shares(np.array([6.0, 3.0]))
    array([0.636..., 0.290..., 0.072...])
    """

    name: ClassVar[str] = "dirichlet-process"
    concentration: float = 1.0

    def __post_init__(self) -> None:
        require_positive("concentration", self.concentration)

    def sticks(self, concentration: Floats, n: int) -> tuple[Floats, Floats]:
        """Prior parameters of the sticks."""
        del n
        return np.ones((len(concentration), 1)), concentration[:, None]


@dataclass(frozen=True)
class BetaSticks(StickBreaking):
    """Sticks ``v_k ~ Beta(first, concentration)``, the two-parameter Beta generalisation (a1, a2).

    Parameters
    ----------
    first : float
        First parameter a1; 1 gives the Dirichlet process.
    concentration : float
        Second parameter a2.

    Examples
    --------
    >>> import numpy as np
    >>> BetaSticks(first=2.0, concentration=1.0).shares(np.array([0.0]))
    array([0.666..., 0.333...])
    """

    name: ClassVar[str] = "beta-sticks"
    first: float = 1.0
    concentration: float = 1.0

    def __post_init__(self) -> None:
        require_positive("first", self.first)
        require_positive("concentration", self.concentration)

    def sticks(self, concentration: Floats, n: int) -> tuple[Floats, Floats]:
        """Prior parameters of the sticks."""
        del n
        return np.full((len(concentration), 1), self.first), concentration[:, None]


@dataclass(frozen=True)
class PitmanYor(StickBreaking):
    """Pitman-Yor process: ``v_k ~ Beta(1 - discount, concentration + k discount)``; sizes fall by a power law.

    Parameters
    ----------
    discount : float
        In [0, 1); 0 gives the Dirichlet process.
    concentration : float
        Positive (negative values above ``-discount`` are allowed when it isn't learned).

    Examples
    --------
    >>> import numpy as np
    >>> PitmanYor(discount=0.5, concentration=1.0).shares(np.array([0.0]))
    array([0.25, 0.75])
    """

    name: ClassVar[str] = "pitman-yor"
    discount: float = 0.25
    concentration: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.discount < 1:
            raise OptionError(f"discount={self.discount!r} must be at least 0 and below 1.")
        if not (np.isfinite(self.concentration) and self.concentration > -self.discount):
            raise OptionError(f"concentration={self.concentration!r} must be above -discount ({-self.discount}).")

    def sticks(self, concentration: Floats, n: int) -> tuple[Floats, Floats]:
        """Prior parameters of the sticks."""
        a = np.full((len(concentration), 1), 1 - self.discount)
        return a, concentration[:, None] + self.discount * np.arange(1, n + 1)
