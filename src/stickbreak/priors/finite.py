"""A finite symmetric Dirichlet: the number of clusters is given, not found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import digamma, gammaln

from stickbreak.core.arrays import Floats
from stickbreak.errors import OptionError
from stickbreak.priors.sticks import Concentrated, require_positive


@dataclass(frozen=True)
class FiniteDirichlet(Concentrated):
    """Shares ``w ~ Dirichlet(concentration / n, ..., concentration / n)`` over n clusters.

    At the optimum ``q(w) = Dirichlet(concentration / n + N_k)`` its terms of the bound are the log evidence of a
    Dirichlet-multinomial. Clusters that hold nothing count as not yet seen.

    Parameters
    ----------
    n_components : int or None
        Number of clusters there are, n; None takes the estimator's ``n_components``.
    concentration : float
        Total concentration, shared evenly.

    Examples
    --------
    >>> import numpy as np
    >>> FiniteDirichlet(n_components=4, concentration=2.0).shares(np.array([3.0, 1.0]))
    array([0.583..., 0.25      , 0.166...])
    """

    name: ClassVar[str] = "finite-dirichlet"
    n_components: int | None = None
    concentration: float = 1.0

    def __post_init__(self) -> None:
        require_positive("concentration", self.concentration)
        if self.n_components is not None:
            require_positive("n_components", self.n_components)

    @property
    def most_clusters(self) -> int | None:
        """Number of clusters there are."""
        return self.n_components

    def _each(self, concentration: Floats, counts: Floats) -> tuple[Floats, int]:
        n = self.n_components
        if n is None:
            raise OptionError("FiniteDirichlet needs n_components outside an estimator.")
        if len(counts) > n:
            raise OptionError(f"FiniteDirichlet has n_components={n} clusters, but there are {len(counts)}.")
        return concentration[:, None] / n, n - len(counts)

    def evidence_at(self, concentration: Floats, counts: Floats) -> Floats:
        """Evidence for each concentration."""
        each, _ = self._each(concentration, counts)
        whole = gammaln(concentration) - gammaln(concentration + counts.sum())
        return np.asarray(whole + np.sum(gammaln(each + counts) - gammaln(each), axis=1))

    def expected_log_weights_at(self, concentration: Floats, counts: Floats) -> Floats:
        """Expected log weights for each concentration."""
        each, _ = self._each(concentration, counts)
        return np.asarray(digamma(each + counts) - digamma(concentration + counts.sum())[:, None])

    def shares_at(self, concentration: Floats, counts: Floats) -> Floats:
        """Expected shares for each concentration."""
        each, unseen = self._each(concentration, counts)
        mass = np.concatenate([each + counts, unseen * each], axis=1)
        return np.asarray(mass / (concentration[:, None] + counts.sum()))
