"""Gaussian with independent columns, normal-gamma prior; single cells may be missing.

Column by column, with ``z = x - origin`` and ``o = 1`` where the cell is there:

- ``t(x) = [1, o, z, z^2]``, ``eta = [0, (log tau - tau mu^2) / 2, tau mu, -tau / 2]``, ``log h = -o/2 log 2 pi``;
- the prior ``lam = [0, kappa, kappa m, 2 b + kappa m^2]`` has shape ``a = (kappa - kappa_0 + dof) / 2``.

It is the normal-Wishart prior of one column, with ``nu = 2 a`` and ``B = 2 b``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy.special import digamma, gammaln

from stickbreak.core.arrays import Dense, Floats, Rows
from stickbreak.core.family import Family
from stickbreak.families.checks import known, per_column, scale_of
from stickbreak.families.gaussian import SCATTER_SHARE

if TYPE_CHECKING:
    from stickbreak.data.profile import Profile


@dataclass(frozen=True, eq=False)
class DiagonalGaussian(Family):
    """Gaussian whose columns are independent within a cluster, under normal-gamma priors.

    Parameters
    ----------
    dof : float or ndarray of shape (D,)
        Prior degrees of freedom of each column's precision, twice its gamma shape.
    scatter : float or ndarray of shape (D,), optional
        Prior scatter of each column, twice its gamma rate: a cluster's expected variance is ``scatter / (dof - 2)``. By
        default a tenth of the column's variance.
    mean : float or ndarray of shape (D,), optional
        Prior mean of a cluster's mean; by default the data's mean.
    mean_strength : float
        How many rows the prior mean is worth, kappa.

    Examples
    --------
    >>> DiagonalGaussian(mean_strength=0.1).name
    'diagonal-gaussian'
    """

    name: ClassVar[str] = "diagonal-gaussian"
    allows_missing: ClassVar[bool] = True
    dof: Any = 3.0
    scatter: Any = None
    mean: Any = None
    mean_strength: Any = 0.01
    origin: Any = None

    def check(self, profile: Profile) -> None:
        """Any number will do, and a missing cell too."""

    def bind(self, profile: Profile) -> Self:
        """Fill in what was left to the data."""
        d = len(profile.mean)
        present = profile.present > 0
        centre = np.where(present, profile.mean, 0.0)
        variance = scale_of(np.where(present, profile.variance, 0.0))
        return replace(
            self,
            dof=per_column(self.dof, d, "dof"),
            scatter=per_column(SCATTER_SHARE * variance if self.scatter is None else self.scatter, d, "scatter"),
            mean=per_column(centre if self.mean is None else self.mean, d, "mean", positive=False),
            mean_strength=per_column(self.mean_strength, d, "mean_strength"),
            origin=centre,
        )

    @property
    def n_columns(self) -> int:
        """Number of columns that rows have."""
        return len(known(self.scatter, "scatter"))

    def _prior_natural(self) -> Floats:
        """``lam_0``."""
        kappa, m = self.mean_strength, known(self.mean, "mean") - known(self.origin, "origin")
        return np.concatenate([[0.0], kappa, kappa * m, known(self.scatter, "scatter") + kappa * m**2])

    def stats(self, rows: Dense) -> Floats:
        """Sufficient statistics of each row; a missing cell's are zero."""
        n, d = rows.shape
        out = np.empty((n, 1 + 3 * d))
        out[:, 0] = 1.0
        z = out[:, 1 + d : 1 + 2 * d]
        np.subtract(rows, self.origin, out=z)
        there = ~np.isnan(z)
        out[:, 1 : 1 + d] = there
        np.copyto(z, 0.0, where=~there)
        np.multiply(z, z, out=out[:, 1 + 2 * d :])
        return out

    def log_base(self, rows: Rows) -> Floats:
        """``-log(2 pi) / 2`` for each cell that is there."""
        return np.asarray(np.count_nonzero(~np.isnan(np.asarray(rows)), axis=1) * (-np.log(2 * np.pi) / 2))

    def _posterior(self, lam: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Kappa, mean, shape a and rate b, each of shape (K, D)."""
        kappa, first, second = np.split(lam[..., 1:], 3, axis=-1)
        shape = (kappa - self.mean_strength + self.dof) / 2.0
        # Mathematics never takes the scatter below the prior's; rounding, far from the origin, could.
        rate = np.maximum(second - first**2 / kappa, self.scatter) / 2.0
        return kappa, first / kappa, shape, rate

    def log_normalizer(self, lam: Floats) -> Floats:
        """``a(lam)``: the normal-gammas' log normalisers, added up."""
        kappa, _, a, b = self._posterior(lam)
        return np.asarray(np.sum(gammaln(a) - a * np.log(b) + np.log(2 * np.pi / kappa) / 2, axis=-1))

    def expected_natural(self, lam: Floats) -> Floats:
        """``grad a(lam)``."""
        kappa, m, a, b = self._posterior(lam)
        tau = a / b
        cell = (digamma(a) - np.log(b) - tau * m**2 - 1 / kappa) / 2
        return np.concatenate([np.zeros((len(lam), 1)), cell, tau * m, -tau / 2], axis=1)

    def predictive(self, rows: Rows, lam: Floats) -> Floats:
        """Log density of independent Student t's, over the cells that are there."""
        kappa, m, a, b = self._posterior(lam)
        z = np.asarray(rows) - self.origin
        out = np.empty((len(z), len(lam)))
        for k in range(len(lam)):
            width = 2 * b[k] * (1 + 1 / kappa[k])
            cells = (
                gammaln(a[k] + 0.5) - gammaln(a[k]) - np.log(np.pi * width) / 2
                - (a[k] + 0.5) * np.log1p((z - m[k]) ** 2 / width)
            )  # fmt: skip
            out[:, k] = np.nansum(cells, axis=1)
        return out

    def describe(self, lam: Floats) -> dict[str, Any]:
        """Means, and variances as the inverses of the expected precisions."""
        _, m, a, b = self._posterior(lam)
        return {"means": m + self.origin, "variances": b / a}

    def sample(self, lam: Floats, n: int, rng: np.random.Generator) -> Floats:
        """Draw rows from the predictive Student t's of one cluster."""
        kappa, m, a, b = self._posterior(lam)
        spread = np.sqrt(b / a * (1 + 1 / kappa))
        return np.asarray(m + self.origin + spread * rng.standard_t(2 * a, size=(n, self.n_columns)))

    def embed(self, rows: Rows) -> Floats:
        """Columns in units of the prior's spread, missing cells at the mean."""
        return np.asarray(np.nan_to_num((np.asarray(rows) - self.origin) / np.sqrt(self.scatter)))

    def same_prior(self, other: Family) -> bool:
        """Tell whether two bound families have the same prior in the data's own units."""
        fields = ("dof", "scatter", "mean", "mean_strength")
        return isinstance(other, DiagonalGaussian) and all(
            np.array_equal(getattr(self, f), getattr(other, f)) for f in fields
        )

    def recentred(self, stats: Floats, home: Self) -> Floats:
        """Move sums from another origin to this one: ``z' = z + shift``."""
        n, cells, first, second = stats[:, :1], *np.split(stats[:, 1:], 3, axis=1)
        shift = home.origin - self.origin
        return np.concatenate([n, cells, first + cells * shift, second + 2 * first * shift + cells * shift**2], axis=1)
