r"""Gaussians with full covariance: any mean (normal-Wishart prior), or mean zero (Wishart prior).

With ``z = x - origin``:

- ``t(x) = [1, z, z z^T]``, ``log h = -D/2 log 2 pi``,
- ``eta = [(log|Lambda| - mu^T Lambda mu) / 2, Lambda mu, -Lambda / 2]``,
- the normal-Wishart prior has ``lam = [kappa, kappa m, B + kappa m m^T]``; its degrees of freedom grow by the same
  count as ``kappa``, so that ``nu = kappa + (nu_0 - kappa_0)``.

Rows are moved to an origin near their mean once, because second moments lose ``eps (distance / spread)^2``.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from stickbreak.core.arrays import Dense, Floats, Rows
from stickbreak.core.family import TILE_BYTES, Family
from stickbreak.core.kernels import Responsibilities, pack_outer
from stickbreak.errors import OptionError
from stickbreak.families import wishart
from stickbreak.families.checks import known, per_column, refuse_missing, scale_of
from stickbreak.families.screening import FactorScorer, collect_outer

if TYPE_CHECKING:
    from stickbreak.core.workspace import Workspace
    from stickbreak.data.profile import Profile

PACKED_LIMIT = 64
"""Up to this many columns a row's products are written out and scored by one matrix product."""

SCATTER_SHARE = 0.1
"""Default prior: a cluster's variance is a tenth of the data's, column by column."""


@dataclass(frozen=True, eq=False)
class FullCovariance(Family):
    """What the two Gaussians with full covariance share."""

    dof: float | None = None
    scatter: Any = None

    def check(self, profile: Profile) -> None:
        """Refuse missing cells: they have no exact place in a full covariance."""
        refuse_missing(
            profile,
            f'family="{self.name}"',
            'Use family="diagonal-gaussian" or "mixed", in which a missing cell adds nothing',
        )

    @property
    def n_columns(self) -> int:
        """Number of columns that rows have."""
        return len(known(self.scatter, "scatter"))

    @abstractmethod
    def _centred(self, rows: Dense, workspace: Workspace | None) -> Floats:
        """Move rows to the origin, in float64."""

    @property
    @abstractmethod
    def _linear(self) -> bool:
        """Whether ``t`` has linear terms."""

    @abstractmethod
    def _moments(self, lam: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """``nu`` (K,), mean (K, D), ``B`` (K, D, D) and ``1 / kappa`` (K,), of the posterior."""

    def log_base(self, rows: Rows) -> Floats:
        """``-D/2 log 2 pi`` for each row."""
        return np.full(rows.shape[0], -self.n_columns / 2.0 * np.log(2 * np.pi))

    def stats(self, rows: Dense) -> Floats:
        """Sufficient statistics of each row."""
        return self._packed(self._centred(rows, None), None)

    def _packed(self, z: Floats, workspace: Workspace | None) -> Floats:
        shape = (len(z), len(self.prior_natural))
        out = np.empty(shape) if workspace is None else workspace.array("stats", shape)
        pack_outer(z, self._linear, out)
        return out

    def log_normalizer(self, lam: Floats) -> Floats:
        """``a(lam)``: the normal-Wishart's or Wishart's log normaliser."""
        d = self.n_columns
        nu, _, b, inverse_kappa = self._moments(lam)
        log_z = wishart.log_wishart_normalizer(nu, wishart.log_det(wishart.cholesky(b)), d)
        if not self._linear:
            return log_z
        return np.asarray(log_z + d / 2.0 * np.log(2 * np.pi * inverse_kappa))

    def expected_natural(self, lam: Floats) -> Floats:
        """``grad a(lam)``."""
        nu, m, b, inverse_kappa = self._moments(lam)
        chol = wishart.cholesky(b)
        f = wishart.inverse_factors(chol)
        precision = nu[:, None, None] * (f @ f.transpose(0, 2, 1))
        linear = np.einsum("kde,ke->kd", precision, m)
        first = self._expected_constant(nu, chol, inverse_kappa) - np.einsum("kd,kd->k", linear, m) / 2.0
        quadratic = wishart.pack_natural(precision) / -2.0
        parts = [first[:, None], linear, quadratic] if self._linear else [first[:, None], quadratic]
        return np.concatenate(parts, axis=1)

    def _expected_constant(self, nu: Floats, chol: Floats, inverse_kappa: Floats) -> Floats:
        d = self.n_columns
        return (wishart.expected_log_det(nu, wishart.log_det(chol), d) - d * inverse_kappa) / 2.0

    def predictive(self, rows: Rows, lam: Floats) -> Floats:
        """Log density of the predictive Student t."""
        nu, m, b, inverse_kappa = self._moments(lam)
        chol = wishart.cholesky(b)
        z = self._centred(np.asarray(rows), None)
        squared = wishart.mahalanobis(z, m, wishart.inverse_factors(chol))
        return wishart.log_student(squared, nu, wishart.log_det(chol), 1 + inverse_kappa, self.n_columns)

    # Many columns: rows stay as they are, clusters are scored by their factors.

    @property
    def _wide(self) -> bool:
        return self.n_columns > PACKED_LIMIT

    def tile_rows(self, n_clusters: int) -> int:
        """Rows to work on at once."""
        if not self._wide:
            return super().tile_rows(n_clusters)
        return int(np.clip(4 * TILE_BYTES // 8 // self.n_columns, 256, 4096))

    def scorer(self, lam: Floats) -> Any:
        """Make ready for `scores` what depends on the clusters alone."""
        if not self._wide:
            return super().scorer(lam)
        nu, m, b, inverse_kappa = self._moments(lam)
        chol = wishart.cholesky(b)
        return FactorScorer.build(self._expected_constant(nu, chol, inverse_kappa), nu, m, b, chol)

    def encode(self, rows: Rows, workspace: Workspace) -> Floats:
        """Rows moved to the origin, with their products unless they have many columns."""
        z = self._centred(np.asarray(rows), workspace)
        return z if self._wide else self._packed(z, workspace)

    def scores(self, scorer: Any, encoded: Any, log_weights: Floats, workspace: Workspace) -> Floats:
        """Scores of shape (n, K) (eq. 9); ``-inf`` for those too low to matter."""
        if not self._wide:
            return super().scores(scorer, encoded, log_weights, workspace)
        return np.asarray(scorer.score(encoded, log_weights))

    def collect(self, encoded: Any, resp: Responsibilities, out: Floats) -> None:
        """Add the statistics of the rows summed by responsibility (eq. 7)."""
        if not self._wide:
            super().collect(encoded, resp, out)
            return
        mass, first, second = collect_outer(encoded, resp, len(out))
        out[:, 0] += mass
        if self._linear:
            out[:, 1 : 1 + self.n_columns] += first
        out[:, -second.shape[1] * (second.shape[1] + 1) // 2 :] += wishart.pack(second)

    def same_prior(self, other: Family) -> bool:
        """Tell whether two bound families have the same prior in the data's own units."""
        if not isinstance(other, FullCovariance) or type(self) is not type(other):
            return False
        return self.dof == other.dof and np.array_equal(self.scatter, other.scatter)

    def _bound_dof(self, d: int) -> float:
        dof = float(d + 2) if self.dof is None else float(self.dof)
        if not (np.isfinite(dof) and dof > d - 1):
            raise OptionError(f"dof={self.dof!r} must be above the number of columns less one ({d - 1}).")
        return dof


@dataclass(frozen=True, eq=False)
class Gaussian(FullCovariance):
    """Gaussian with any mean and full covariance, under a normal-Wishart prior.

    Parameters
    ----------
    dof : float, optional
        Prior degrees of freedom, nu; by default the number of columns plus 2.
    scatter : float, ndarray of shape (D,) or (D, D), optional
        Prior scatter B: a cluster's expected covariance is ``B / (nu - D - 1)``. By default a tenth of each column's
        variance, on the diagonal, so that units of measurement don't matter.
    mean : float or ndarray of shape (D,), optional
        Prior mean m of a cluster's mean; by default the data's mean.
    mean_strength : float
        How many rows the prior mean is worth, kappa.

    Examples
    --------
    >>> Gaussian(scatter=0.2, mean=0.0).name
    'gaussian'
    """

    name: ClassVar[str] = "gaussian"
    mean: Any = None
    mean_strength: float = 0.01
    origin: Any = None

    def bind(self, profile: Profile) -> Self:
        """Fill in what was left to the data."""
        d = len(profile.mean)
        if not (np.isfinite(self.mean_strength) and self.mean_strength > 0):
            raise OptionError(f"mean_strength={self.mean_strength!r} must be a positive number.")
        mean = profile.mean if self.mean is None else per_column(self.mean, d, "mean", positive=False)
        scatter = np.diag(SCATTER_SHARE * scale_of(profile.variance)) if self.scatter is None else self.scatter
        return replace(
            self, dof=self._bound_dof(d), scatter=as_scatter(scatter, d), mean=mean, origin=np.array(profile.mean)
        )

    def _prior_natural(self) -> Floats:
        """``lam_0 = [kappa, kappa m, B + kappa m m^T]``, about the origin."""
        kappa, m = self.mean_strength, known(self.mean, "mean") - known(self.origin, "origin")
        second = known(self.scatter, "scatter") + kappa * np.outer(m, m)
        return np.concatenate([[kappa], kappa * m, wishart.pack(second)])

    @property
    def _linear(self) -> bool:
        return True

    def _centred(self, rows: Dense, workspace: Workspace | None) -> Floats:
        out = None if workspace is None else workspace.array("centred", rows.shape)
        return np.asarray(np.subtract(rows, self.origin, out=out, dtype=np.float64), order="C")

    def _moments(self, lam: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        d = self.n_columns
        kappa, first = lam[:, 0], lam[:, 1 : 1 + d]
        nu = kappa + (known(self.dof, "dof") - self.mean_strength)
        # Exactly symmetric, and kinder to rounding than kappa m m^T.
        b = wishart.unpack(lam[:, 1 + d :], d) - first[:, :, None] * first[:, None, :] / kappa[:, None, None]
        return nu, first / kappa[:, None], b, 1.0 / kappa

    def describe(self, lam: Floats) -> dict[str, Any]:
        """Means, and covariances as the inverses of the expected precisions."""
        nu, m, b, _ = self._moments(lam)
        return {"means": m + self.origin, "covariances": b / nu[:, None, None]}

    def sample(self, lam: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Draw rows from the predictive Student t of one cluster."""
        nu, m, b, inverse_kappa = self._moments(lam[None])
        chol = wishart.cholesky(b)[0]
        return wishart.draw_student(m[0] + self.origin, chol, float(nu[0]), 1 + float(inverse_kappa[0]), n, rng)

    def embed(self, rows: Rows) -> Floats:
        """Columns in units of the prior's spread."""
        return np.asarray((np.asarray(rows) - self.origin) / np.sqrt(np.diagonal(self.scatter)))

    def same_prior(self, other: Family) -> bool:
        """Tell whether two bound families have the same prior in the data's own units."""
        return (
            isinstance(other, Gaussian)
            and super().same_prior(other)
            and np.array_equal(self.mean, other.mean)
            and self.mean_strength == other.mean_strength
        )

    def recentred(self, stats: Floats, home: Self) -> Floats:
        """Move sums from another origin to this one: ``z' = z + shift``."""
        d, shift = self.n_columns, home.origin - self.origin
        n, first, second = stats[:, :1], stats[:, 1 : 1 + d], wishart.unpack(stats[:, 1 + d :], d)
        cross = first[:, :, None] * shift
        moved = second + cross + cross.transpose(0, 2, 1) + n[:, :, None] * np.outer(shift, shift)
        return np.concatenate([n, first + n * shift, wishart.pack(moved)], axis=1)


@dataclass(frozen=True, eq=False)
class ZeroMeanGaussian(FullCovariance):
    """Gaussian with mean zero and full covariance, under a Wishart prior (supplement, section 1).

    Parameters
    ----------
    dof : float, optional
        Prior degrees of freedom, nu; by default the number of columns plus 2.
    scatter : float, ndarray of shape (D,) or (D, D), optional
        Prior scatter, the supplement's inverse of W. By default a tenth of each column's mean square, on the diagonal.

    Examples
    --------
    >>> ZeroMeanGaussian().name
    'zero-mean-gaussian'
    """

    name: ClassVar[str] = "zero-mean-gaussian"

    def bind(self, profile: Profile) -> Self:
        """Fill in what was left to the data."""
        d = len(profile.mean)
        scatter = np.diag(SCATTER_SHARE * scale_of(profile.mean_square)) if self.scatter is None else self.scatter
        return replace(self, dof=self._bound_dof(d), scatter=as_scatter(scatter, d))

    def _prior_natural(self) -> Floats:
        """``lam_0 = [nu, B]``."""
        return np.concatenate([[known(self.dof, "dof")], wishart.pack(known(self.scatter, "scatter"))])

    @property
    def _linear(self) -> bool:
        return False

    def _centred(self, rows: Dense, workspace: Workspace | None) -> Floats:
        del workspace
        return np.ascontiguousarray(rows, dtype=np.float64)

    def _moments(self, lam: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        d = self.n_columns
        return lam[:, 0], np.zeros((len(lam), d)), wishart.unpack(lam[:, 1:], d), np.zeros(len(lam))

    def describe(self, lam: Floats) -> dict[str, Any]:
        """Covariances as the inverses of the expected precisions, and means, which are zero."""
        nu, m, b, _ = self._moments(lam)
        return {"means": m, "covariances": b / nu[:, None, None]}

    def sample(self, lam: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Draw rows from the predictive Student t of one cluster."""
        nu, m, b, _ = self._moments(lam[None])
        return wishart.draw_student(m[0], wishart.cholesky(b)[0], float(nu[0]), 1.0, n, rng)

    def embed(self, rows: Rows) -> Floats:
        """Lengths along fixed random directions, in which a row and its negative are alike."""
        z = np.asarray(rows) / np.sqrt(np.diagonal(self.scatter))
        directions = np.random.default_rng(0).standard_normal((z.shape[1], min(4 * z.shape[1], 256)))
        return np.asarray(np.abs(z @ directions))


def as_scatter(value: Any, d: int) -> Floats:
    """Read a scatter matrix given as a number, a diagonal or a matrix."""
    given = np.asarray(value, dtype=np.float64)
    if given.shape == (d, d):
        matrix = (given + given.T) / 2.0
        if not np.allclose(given, given.T):
            raise OptionError("scatter must be symmetric.")
    else:
        matrix = np.diag(per_column(given, d, "scatter"))
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise OptionError("scatter must be positive definite.") from None
    return matrix
