"""Rows of counts that share one set of probabilities: documents, baskets, histograms; dense or CSR.

``t(x) = [1, x]``, ``eta = [0, log p]``, ``log h = log n! - sum_v log x_v!`` with ``n = sum_v x_v``; the prior is a
symmetric Dirichlet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.special import digamma, gammaln

from stickbreak.core.arrays import Dense, Floats, Ints, Rows
from stickbreak.core.family import Family
from stickbreak.core.kernels import Responsibilities, collect_counts, score_counts
from stickbreak.errors import DataError
from stickbreak.families.checks import known, per_column, refuse_missing, require_counts

if TYPE_CHECKING:
    from stickbreak.core.workspace import Workspace
    from stickbreak.data.profile import Profile


class _Counts(NamedTuple):
    """CSR counts in the types that the compiled loops take."""

    indptr: Ints
    indices: Ints
    data: Floats

    @classmethod
    def of(cls, rows: Rows) -> _Counts:
        csr: Any = rows
        return cls(csr.indptr.astype(np.int64), csr.indices.astype(np.int64), csr.data.astype(np.float64))

    @property
    def row(self) -> Ints:
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))

    def sum_rows(self, values: Floats) -> Floats:
        """Add up one value a stored cell, row by row."""
        return np.asarray(np.bincount(self.row, values, minlength=len(self.indptr) - 1))


@dataclass(frozen=True, eq=False)
class Multinomial(Family):
    """Rows of counts drawn from one set of probabilities a cluster, under a symmetric Dirichlet prior.

    Parameters
    ----------
    concentration : float or ndarray of shape (D,)
        Prior count of each column.

    Examples
    --------
    >>> Multinomial(concentration=0.1).name
    'multinomial'
    """

    name: ClassVar[str] = "multinomial"
    allows_sparse: ClassVar[bool] = True
    concentration: Any = 0.1
    row_total: float | None = None

    def check(self, profile: Profile) -> None:
        """Refuse anything but counts."""
        refuse_missing(profile, 'family="multinomial"', "Only whole rows of counts make sense: fill in zeros")
        require_counts(profile, 'family="multinomial"')
        if self.row_total is None and profile.row_total == 0:
            raise DataError('family="multinomial" needs counts, but every cell is zero.')

    def bind(self, profile: Profile) -> Self:
        """Spread the hyperparameter over the columns."""
        concentration = per_column(self.concentration, len(profile.mean), "concentration")
        return replace(self, concentration=concentration, row_total=float(profile.row_total))

    @property
    def n_columns(self) -> int:
        """Number of columns that rows have."""
        return len(self.concentration)

    def _prior_natural(self) -> Floats:
        """``lam_0 = [0, concentration]``."""
        return np.concatenate([[0.0], self.concentration])

    def stats(self, rows: Dense) -> Floats:
        """Sufficient statistics of each row."""
        out = np.empty((rows.shape[0], 1 + rows.shape[1]))
        out[:, 0] = 1.0
        out[:, 1:] = rows
        return out

    def log_base(self, rows: Rows) -> Floats:
        """Log of the multinomial coefficient of each row."""
        if isinstance(rows, np.ndarray):
            x = np.asarray(rows, dtype=np.float64)
            return np.asarray(gammaln(x.sum(axis=1) + 1) - gammaln(x + 1).sum(axis=1))
        counts = _Counts.of(rows)
        return np.asarray(gammaln(counts.sum_rows(counts.data) + 1) - counts.sum_rows(gammaln(counts.data + 1)))

    def log_normalizer(self, lam: Floats) -> Floats:
        """``a(lam)``: the Dirichlet's log normaliser."""
        return np.asarray(gammaln(lam[..., 1:]).sum(axis=-1) - gammaln(lam[..., 1:].sum(axis=-1)))

    def expected_natural(self, lam: Floats) -> Floats:
        """``grad a(lam)``."""
        eta = np.zeros_like(lam)
        eta[:, 1:] = digamma(lam[:, 1:]) - digamma(lam[:, 1:].sum(axis=1, keepdims=True))
        return eta

    def predictive(self, rows: Rows, lam: Floats) -> Floats:
        """Log probability of Dirichlet-multinomials."""
        prior, whole = lam[:, 1:], lam[:, 1:].sum(axis=1)
        out = np.empty((rows.shape[0], len(lam)))
        if isinstance(rows, np.ndarray):
            x = np.asarray(rows, dtype=np.float64)
            total = x.sum(axis=1)
            for k, p in enumerate(prior):
                out[:, k] = (gammaln(p + x) - gammaln(p)).sum(axis=1)
        else:
            counts = _Counts.of(rows)
            total = counts.sum_rows(counts.data)
            for k, p in enumerate(prior):
                at = p[counts.indices]
                out[:, k] = counts.sum_rows(gammaln(at + counts.data) - gammaln(at))
        return np.asarray(out + gammaln(whole) - gammaln(whole + total[:, None]) + self.log_base(rows)[:, None])

    def describe(self, lam: Floats) -> dict[str, Any]:
        """Expected probability of each column."""
        return {"probabilities": lam[:, 1:] / lam[:, 1:].sum(axis=1, keepdims=True)}

    def sample(self, lam: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Draw rows of one cluster, their totals Poisson about the data's mean total."""
        totals = rng.poisson(known(self.row_total, "row_total"), size=n)
        return rng.multinomial(totals, rng.dirichlet(lam[1:], size=n)).astype(np.float64)

    def embed(self, rows: Rows) -> Any:
        """Square roots of the shares (Hellinger), which have length one."""
        total = np.maximum(np.asarray(rows.sum(axis=1), dtype=np.float64).reshape(-1, 1), 1.0)
        if isinstance(rows, np.ndarray):
            return np.asarray(np.sqrt(rows / total))
        shares: Any = rows.multiply(1 / total)
        return shares.sqrt().tocsr()

    # CSR rows stay as they are.

    def scorer(self, lam: Floats) -> Any:
        """Expected log probabilities."""
        return self.expected_natural(lam)

    def encode(self, rows: Rows, workspace: Workspace) -> Any:
        """Dense statistics, or CSR counts in the compiled loops' types."""
        return super().encode(rows, workspace) if isinstance(rows, np.ndarray) else _Counts.of(rows)

    def scores(self, scorer: Any, encoded: Any, log_weights: Floats, workspace: Workspace) -> Floats:
        """Scores of shape (n, K) (eq. 9)."""
        if not isinstance(encoded, _Counts):
            return super().scores(scorer, encoded, log_weights, workspace)
        out = workspace.array("scores", (len(encoded.indptr) - 1, len(scorer)))
        out[:] = log_weights
        score_counts(*encoded, np.ascontiguousarray(scorer[:, 1:].T), out)
        return out

    def collect(self, encoded: Any, resp: Responsibilities, out: Floats) -> None:
        """Add the statistics of the rows summed by responsibility (eq. 7)."""
        if isinstance(encoded, _Counts):
            collect_counts(*encoded, resp.start, resp.cluster, resp.value, out)
        else:
            super().collect(encoded, resp, out)
