"""What one cluster looks like: the protocol of an exponential family with its conjugate prior.

A family is a map ``t(x)`` and one convex function ``a``. With the constants folded into ``t`` (its first entry is 1,
the count), ``log p(x | phi) = <eta(phi), t(x)> + log h(x)``, and the conjugate prior is
``p(phi | lam) = exp(<lam, eta(phi)> - a(lam))`` (Hughes & Sudderth 2013, eq. 2). Then

- the posterior of a cluster is ``lam_k = lam_0 + S_k``,
- ``E[eta] = grad a(lam_k)`` scores rows: one matrix product,
- ``log p(x | rows of k) = log h(x) + a(lam_k + t(x)) - a(lam_k)`` is the predictive density.

A family object starts *free*, its hyperparameters given or left to the data, and is *bound* to data by `Family.bind`,
which fills in what was left open. Only bound families can do arithmetic.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from stickbreak.core.arrays import Dense, Floats, Rows
from stickbreak.core.kernels import Responsibilities, collect_dense, score_dense, sheaf_rows
from stickbreak.errors import InputError

if TYPE_CHECKING:
    from stickbreak.core.workspace import Workspace
    from stickbreak.data.profile import Profile

TILE_BYTES = 1 << 22
"""Size of a tile's statistics: large enough for long matrix products, small enough to stay in a cache."""


@dataclass(frozen=True)
class Family(ABC):
    """An exponential family, its conjugate prior, and what people read of it.

    Subclasses are frozen dataclasses whose fields are hyperparameters; a field that is None is filled in by `bind`.
    """

    name: ClassVar[str]
    allows_missing: ClassVar[bool] = False
    allows_sparse: ClassVar[bool] = False

    def accept(self, profile: Profile) -> None:
        """Raise an error if the data are of a form, or hold values, that this family has no density for."""
        if profile.sparse and not self.allows_sparse:
            raise InputError(
                f'Sparse input is not supported by family="{self.name}": use X.toarray(), or family="multinomial" '
                "for counts."
            )
        self.check(profile)

    @abstractmethod
    def check(self, profile: Profile) -> None:
        """Raise an error if the data hold values that this family gives no density to."""

    @abstractmethod
    def bind(self, profile: Profile) -> Self:
        """Fill in what was left to the data."""

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """Number of columns that rows have."""

    @abstractmethod
    def _prior_natural(self) -> Floats:
        """Compute ``lam_0`` from the hyperparameters."""

    @cached_property
    def prior_natural(self) -> Floats:
        """The prior's natural parameter ``lam_0``, of shape (P,)."""
        lam = self._prior_natural()
        lam.setflags(write=False)
        return lam

    @cached_property
    def prior_normalizer(self) -> float:
        """The prior's log-normalizer ``a(lam_0)``."""
        return float(self.log_normalizer(self.prior_natural[None])[0])

    @abstractmethod
    def stats(self, rows: Dense) -> Floats:
        """Sufficient statistics ``t(x)`` of each row, of shape (n, P), the first column being 1."""

    @abstractmethod
    def log_base(self, rows: Rows) -> Floats:
        """Base measure ``log h(x)`` of each row."""

    @abstractmethod
    def log_normalizer(self, lam: Floats) -> Floats:
        """Log-normalizer ``a(lam)`` of each of K natural parameters, of shape (K,)."""

    @abstractmethod
    def expected_natural(self, lam: Floats) -> Floats:
        """Expected natural parameters ``E[eta] = grad a(lam)``, of shape (K, P)."""

    @abstractmethod
    def describe(self, lam: Floats) -> dict[str, Any]:
        """What people read of K clusters: means, covariances, rates, in the data's own units."""

    @abstractmethod
    def sample(self, lam: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Draw rows from the predictive distribution of one cluster, ``lam`` of shape (P,)."""

    @abstractmethod
    def embed(self, rows: Rows) -> Any:
        """Place rows, dense or CSR, in a space in which Euclidean distance is a fair first idea of unlikeness."""

    def predictive(self, rows: Rows, lam: Floats) -> Floats:
        """Log posterior predictive density of each row in each of K clusters, of shape (n, K).

        This is ``log h(x) + a(lam_k + t(x)) - a(lam_k)`` row by row; families with a closed form override it.
        """
        stats = self.stats(_dense(rows))
        gains = [self.log_normalizer(lam_k + stats) for lam_k in lam]
        return np.stack(gains, axis=1) - self.log_normalizer(lam) + self.log_base(rows)[:, None]

    def recentred(self, stats: Floats, home: Self) -> Floats:
        """Re-express sums taken by another family object of this kind (`home`) in this one's coordinates."""
        del home
        return stats

    def same_prior(self, other: Family) -> bool:
        """Tell whether two bound families have the same prior in the data's own units."""
        return type(self) is type(other) and np.array_equal(self.prior_natural, other.prior_natural)

    # The local and summary steps. A family with structure to use overrides these four together.

    def tile_rows(self, n_clusters: int) -> int:
        """Rows to work on at once; it depends on shapes only, so that results don't depend on the workers."""
        width = max(len(self.prior_natural), n_clusters)
        return int(np.clip(TILE_BYTES // 8 // width, 64, 4096))

    def scorer(self, lam: Floats) -> Any:
        """Make ready for `scores` what depends on the clusters alone."""
        return self.expected_natural(lam)

    def encode(self, rows: Rows, workspace: Workspace) -> Any:
        """Make ready for `scores` and `collect` what depends on the rows alone."""
        del workspace
        return self.stats(_dense(rows))

    def scores(self, scorer: Any, encoded: Any, log_weights: Floats, workspace: Workspace) -> Floats:
        """Scores ``E[log p(x_n | phi_k)] - log h(x_n) + E[log w_k]``, of shape (n, K) (eq. 9)."""
        n, n_clusters = encoded.shape[0], len(scorer)
        if sheaf_rows(*scorer.shape):
            out = workspace.array("scores", (n, n_clusters))
            score_dense(encoded, np.ascontiguousarray(scorer.T), out)
            out += log_weights
            return out
        # A cluster's scores lie together: the product is a fifth faster that way round.
        out = workspace.array("scores", (n_clusters, n))
        np.matmul(scorer, encoded.T, out=out)
        out += log_weights[:, None]
        return out.T

    def collect(self, encoded: Any, resp: Responsibilities, out: Floats) -> None:
        """Add to ``out`` (K, P) the statistics of the rows summed by responsibility: ``R.T @ T`` (eq. 7)."""
        collect_dense(encoded, resp, out)


def _dense(rows: Rows) -> Dense:
    return rows if isinstance(rows, np.ndarray) else rows.toarray()
