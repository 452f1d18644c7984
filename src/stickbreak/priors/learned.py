r"""A concentration that is learned under a gamma prior, its terms in the bound.

Blei & Jordan 2006 (section 6) give alpha a gamma prior and a factor q(alpha) = Gamma independent of the sticks. Here
the sticks' factor may depend on alpha: ``q(alpha) q(v | alpha)``. The best such q is found in closed form but for one
integral over one number,

    evidence(N) = log \int p(alpha) exp(evidence(N | alpha)) d alpha,

with ``q(alpha)`` proportional to the integrand; the bound it gives is never below Blei & Jordan's, empty clusters still
leave it unchanged, and the gamma prior's terms are in it. The integral is taken by the trapezoid rule in ``log alpha``,
which for a smooth integrand that dies out at both ends is exact to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from stickbreak.core.allocation import AllocationPrior
from stickbreak.core.arrays import Floats
from stickbreak.errors import OptionError
from stickbreak.priors.sticks import Concentrated, DirichletProcess, require_positive

_WIDEST = (-690.0, 60.0)
_SEARCH_NODES = 81
_LEAST_NODES, _WIDEST_STEP = 161, 0.2
_NEGLIGIBLE = 45.0
_LEAST_SHAPE = 0.065


@dataclass(frozen=True)
class LearnedConcentration(AllocationPrior):
    """Any prior with a concentration, the concentration having a gamma prior.

    Parameters
    ----------
    base : DirichletProcess, BetaSticks, PitmanYor or FiniteDirichlet
        The prior whose concentration is learned; its own value of it isn't used.
    shape, rate : float
        Of the gamma prior; its mean is ``shape / rate``.

    Examples
    --------
    >>> import numpy as np
    >>> few, many = np.array([500.0, 500.0]), np.full(50, 20.0)
    >>> prior = LearnedConcentration()
    >>> prior.describe(few)["concentration"] < prior.describe(many)["concentration"]
    True
    """

    name: ClassVar[str] = "learned"
    base: Concentrated = DirichletProcess()  # noqa: RUF009 - frozen
    shape: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        require_positive("shape", self.shape)
        require_positive("rate", self.rate)
        if self.shape < _LEAST_SHAPE:
            raise OptionError(f"shape={self.shape!r}: below {_LEAST_SHAPE} doubles don't reach the prior's lower tail.")

    @property
    def most_clusters(self) -> int | None:
        """Number of clusters that there can be."""
        return self.base.most_clusters

    def _grid(self, counts: Floats) -> tuple[Floats, Floats, float]:
        """Nodes, their normalised weights under q(alpha), and the log of the integral."""
        low, high = self._support(counts)
        u = np.linspace(low, high, max(_LEAST_NODES, int((high - low) / _WIDEST_STEP)))
        values = self._log_integrand(u, counts)
        top = float(values.max())
        q = np.exp(values - top)
        whole = float(q.sum())
        return np.exp(u), q / whole, top + float(np.log(whole * (u[1] - u[0])))

    def _support(self, counts: Floats) -> tuple[float, float]:
        """Find where the integrand is not negligible, by closing in on its one peak."""
        low, high = _WIDEST
        while True:
            u = np.linspace(low, high, _SEARCH_NODES)
            values = self._log_integrand(u, counts)
            alive = np.flatnonzero(values > values.max() - _NEGLIGIBLE)
            closer = u[max(alive[0] - 1, 0)], u[min(alive[-1] + 1, _SEARCH_NODES - 1)]
            if closer[1] - closer[0] > 0.5 * (high - low):
                return float(closer[0]), float(closer[1])
            low, high = closer

    def _log_integrand(self, u: Floats, counts: Floats) -> Floats:
        # In u = log alpha: the density of the gamma prior times alpha, and the evidence given alpha.
        prior = self.shape * np.log(self.rate) - gammaln(self.shape) + self.shape * u - self.rate * np.exp(u)
        return np.asarray(prior + self.base.evidence_at(np.exp(u), counts))

    def evidence(self, counts: Floats) -> float:
        """Terms of the bound that concern the shares and the concentration, at their optimum."""
        return self._grid(counts)[2]

    def expected_log_weights(self, counts: Floats) -> Floats:
        """``E[log w_k]``, averaged over q(alpha)."""
        alpha, q, _ = self._grid(counts)
        return np.asarray(q @ self.base.expected_log_weights_at(alpha, counts))

    def shares(self, counts: Floats) -> Floats:
        """``E[w_k]`` and, last, that of clusters not yet seen, averaged over q(alpha)."""
        alpha, q, _ = self._grid(counts)
        return np.asarray(q @ self.base.shares_at(alpha, counts))

    def describe(self, counts: Floats) -> dict[str, float]:
        """Mean of the learned concentration."""
        alpha, q, _ = self._grid(counts)
        return {"concentration": float(q @ alpha)}
